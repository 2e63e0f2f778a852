"""Finds the status phrase in one finished sentence."""

from __future__ import annotations

import re

from headrace.status.languages import LANGUAGES, Language, language_of

# Placeholder for quoted text and code: never matches, and never ends a phrase.
_HIDDEN = "\ue000"
# The pattern begins with a character class, which makes the search fast.
_QUOTED = re.compile(
    r"[`\"“「『«'‘](?:"
    r"(?<=`)[^`]*`?"
    r'|(?<=")[^"]*"?'
    r"|(?<=“)[^”]*”?|(?<=「)[^」]*」?|(?<=『)[^』]*』?|(?<=«)[^»]*»?"
    r"|(?<=['‘])(?<!\w.)[^'’\n]*(?:['’]\w[^'’\n]*)*['’](?!\w))"
)
_MARKUP = str.maketrans("", "", "*`#~")
_BLANKS = str.maketrans({"’": "'", "\t": " ", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
# For text that is not ASCII: much faster than to translate it, or to look for quotations.
_has_blank = re.compile("[’\t\u00a0\u202f\u2009]").search
_has_quote = re.compile("[`\"'“「『«‘]").search
_BRACKET = re.compile(r"[()\[\]{}<>（）【】《》「」『』]")
# A phrase is never cut inside a word, number, URL or code name.
_WORD = re.compile(r"[A-Za-z0-9_./:@%+-]")
_AFTER_SENTENCE = " \t\n\"'”’」』)*]。."
_EDGES = " \t\n-–—*,.;:!"
_SHORTEST = min(language.min_chars for language in LANGUAGES)


def find_phrase(sentence: str, *, is_quoted: bool = False) -> str | None:
    """Return the phrase with which a sentence announces an action, or None.

    Quoted text and code are ignored. `is_quoted` says that the sentence begins inside a quotation.
    """
    if len(sentence) < _SHORTEST:
        return None
    low = sentence.lower()
    if "\t" in low or (not low.isascii() and _has_blank(low)):
        low = low.translate(_BLANKS)
    if len(low) != len(sentence):
        # Some letters grow in lower case, but positions have to stay the same.
        low = sentence
    if is_quoted:
        low = _QUOTED.sub(_hide, f'"{low}')[1:]
    elif '"' in low or "'" in low or "`" in low or (not low.isascii() and _has_quote(low)):
        # Most sentences quote nothing, and these tests are ten times faster than the pattern.
        low = _QUOTED.sub(_hide, low)
    return _find_announcement(sentence, low, language_of(sentence))


def _hide(match: re.Match[str]) -> str:
    return _HIDDEN * len(match[0])


def _find_announcement(sentence: str, low: str, language: Language) -> str | None:
    match = language.opening.match(low) or _find_inside(low, 0, language)
    if match is None or not _is_statement(low, language):
        return None
    while match is not None:
        start = match.start(match.lastindex or 0)
        if language.refused.match(low, start) is None:
            phrase = _trim(sentence, low, start, language)
            if phrase is not None:
                return phrase
        match = _find_inside(low, start, language)
    return None


def _is_statement(low: str, language: Language) -> bool:
    """Return whether the sentence is a statement, not a question or a supposition."""
    is_asked = low.rstrip(_AFTER_SENTENCE).endswith(language.asks)
    return not is_asked and language.supposes.match(low) is None


def _find_inside(low: str, start: int, language: Language) -> re.Match[str] | None:
    """Find the next announcement that does not open the sentence."""
    match = language.inner.search(low, start)
    if match is not None or language.joined is None:
        return match
    for conjunction in language.conjunctions:
        if conjunction in low:
            return language.joined.search(low, start)
    return None


def _trim(sentence: str, low: str, start: int, language: Language) -> str | None:
    """Cut the phrase at its end. A comma that would leave too little of it is skipped."""
    place = start
    while True:
        stop = language.stop.search(low, place)
        end = stop.start() if stop is not None else len(low)
        text = clean(_BRACKET.split(sentence[start:end], maxsplit=1)[0])
        if len(text) >= language.min_chars:
            text = shorten(text, language)
            return text[0].upper() + text[1:] if len(text) >= language.min_chars else None
        if stop is None or stop[0] != ",":
            return None
        place = stop.end()


def clean(text: str) -> str:
    """Remove markup and collapse whitespace."""
    if "*" in text or "`" in text or "#" in text or "~" in text:
        text = text.translate(_MARKUP)
    return " ".join(text.split()).strip(_EDGES)


def shorten(text: str, language: Language) -> str:
    """Shorten a phrase to the language's limit, ending with a word that can end it."""
    end = language.max_chars
    if len(text) <= end:
        return text
    # Chinese text may end after any character, but not inside a foreign word.
    while end and _WORD.match(text[end]) and _WORD.match(text[end - 1]):
        end -= 1
    return language.dangling.sub("", text[:end]).strip(_EDGES)
