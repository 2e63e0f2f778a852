"""One finished sentence in, at most one status phrase out."""

from __future__ import annotations

import re

from headrace.status.languages import LANGUAGES, Language, language_of

# Never matched, and never the end of a phrase: stands for what is quoted or code.
_HIDDEN = "\ue000"
_QUOTED = re.compile(
    r"`[^`]*`?"
    r'|"[^"]*"?'
    r"|“[^”]*”?|「[^」]*」?|『[^』]*』?|«[^»]*»?"
    r"|(?<!\w)['‘][^'’\n]*(?:['’]\w[^'’\n]*)*['’](?!\w)"
)
_MARKUP = str.maketrans("", "", "*`#~")
_BLANKS = str.maketrans({"’": "'", "\t": " ", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
_BRACKET = re.compile(r"[()\[\]{}<>（）【】《》「」『』]")
# Never cut inside of one: a word, a number, an address, a name in code.
_WORD = re.compile(r"[A-Za-z0-9_./:@%+-]")
_AFTER_SENTENCE = " \t\n\"'”’」』)*]。."
_EDGES = " \t\n-–—*,.;:!"
_SHORTEST = min(language.min_chars for language in LANGUAGES)


def find_phrase(sentence: str, *, is_quoted: bool = False) -> str | None:
    """The phrase with which a sentence announces what its author does; None for none.

    What stands in quotation marks or code is somebody else's. `is_quoted` says that the
    sentence begins inside a quotation."""
    if len(sentence) < _SHORTEST:
        return None
    low = sentence.lower()
    if "\t" in low or not low.isascii():
        low = low.translate(_BLANKS)
    if len(low) != len(sentence):
        # A few letters are longer in lower case, and places must stay where they are.
        low = sentence
    return _found(sentence, _hidden(low, is_quoted=is_quoted), language_of(sentence))


def _hidden(text: str, *, is_quoted: bool) -> str:
    if is_quoted:
        return _QUOTED.sub(_hide, f'"{text}')[1:]
    # Plain tests: most sentences quote nothing, and a pattern would take ten times as long.
    may_quote = '"' in text or "'" in text or "`" in text or not text.isascii()
    return _QUOTED.sub(_hide, text) if may_quote else text


def _hide(match: re.Match[str]) -> str:
    return _HIDDEN * len(match[0])


def _found(sentence: str, low: str, language: Language) -> str | None:
    match = language.opening.match(low) or _inside(low, 0, language)
    if match is None or not _is_said(low, language):
        return None
    while match is not None:
        start = match.start(match.lastindex or 0)
        if language.refused.match(low, start) is None:
            phrase = _trimmed(sentence, low, start, language)
            if phrase is not None:
                return phrase
        match = _inside(low, start, language)
    return None


def _is_said(low: str, language: Language) -> bool:
    """Whether the sentence says something, and does not only ask or suppose."""
    is_asked = low.rstrip(_AFTER_SENTENCE).endswith(language.asks)
    return not is_asked and language.supposes.match(low) is None


def _inside(low: str, start: int, language: Language) -> re.Match[str] | None:
    """The next announcement that does not open the sentence."""
    match = language.inner.search(low, start)
    if match is not None or language.joined is None:
        return match
    for conjunction in language.conjunctions:
        if conjunction in low:
            return language.joined.search(low, start)
    return None


def _trimmed(sentence: str, low: str, start: int, language: Language) -> str | None:
    """The phrase up to its end. A comma that would leave too little of it is passed over."""
    place = start
    while True:
        stop = language.stop.search(low, place)
        end = stop.start() if stop is not None else len(low)
        text = clean(_BRACKET.split(sentence[start:end], maxsplit=1)[0])
        if len(text) >= language.min_chars:
            text = shortened(text, language)
            return text[0].upper() + text[1:] if len(text) >= language.min_chars else None
        if stop is None or stop[0] != ",":
            return None
        place = stop.end()


def clean(text: str) -> str:
    """Without markup, and with single spaces."""
    return " ".join(text.translate(_MARKUP).split()).strip(_EDGES)


def shortened(text: str, language: Language) -> str:
    """A phrase that is too long ends with a whole word that can end one."""
    end = language.max_chars
    if len(text) <= end:
        return text
    # Chinese may end after any character, but not inside of a foreign word.
    while end and _WORD.match(text[end]) and _WORD.match(text[end - 1]):
        end -= 1
    return language.dangling.sub("", text[:end]).strip(_EDGES)
