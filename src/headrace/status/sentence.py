"""Cuts streamed reasoning into finished sentences.

Memory is bounded, and text is only scanned when a delta brings a character that can end a sentence.
"""

from __future__ import annotations

import re

import msgspec

MAX_CHARS = 200
"""How many characters are kept of the start of a sentence, and again of its end."""
_MAX_KEPT_CHARS = 2 * MAX_CHARS
_find_boundary = re.compile(r"[.!?\n。！？]").search
STOPS = ".!?"
"""Marks that end a sentence only if whitespace follows."""
_AFTER_MARKS = ".!?\"'”’)*]"
# The pattern begins with the mark, so that the search looks for one of a few characters. A run of
# marks is matched once, from its first: otherwise a thousand dots would take a million steps.
_find_end = re.compile(
    r"[.!?。！？\n](?:"
    r"(?<=\n)"
    r"|(?<=[。！？])[。！？]*+[”」』\"]?"
    r"|(?<=[.!?])(?<![.!?].)"
    r"(?<!\b(?:vs|cf|Dr|Mr|Ms|St)\.)(?<!\b(?:e\.g|i\.e|U\.S)\.)(?<!\bapprox\.)"
    r"(?<!\n\d\.)(?<!(?:\n\d|\*\*|# )\d\.)(?<!\*\*\d\d\.)"
    r"[.!?]*+[\"'”’)*\]]*+(?:\n|(?=\s)))"
).search


class Sentence(msgspec.Struct, frozen=True, gc=False):
    """One sentence, or a line that is not a sentence. `text` has at most twice `MAX_CHARS`."""

    text: str
    begins_line: bool
    ends_line: bool
    is_whole: bool = True
    """False if the middle was dropped because it was too long."""


class SentenceReader:
    """Turns the deltas of one reasoning part into sentences."""

    __slots__ = ("_begins_line", "_chars", "_is_whole", "_pieces", "_search_from", "ends_if_space")

    def __init__(self) -> None:
        # The first character belongs to the previous sentence: a list number such as "1." looks
        # like the end of a sentence unless a line break precedes it.
        self._pieces: list[str] = ["\n"]
        self._chars = 1
        self._is_whole = True
        self._begins_line = True
        self.ends_if_space = False
        """Whether a sentence ends here if the next character is a space."""
        # Where the search for an end begins: there is none in the text before.
        self._search_from = 1

    def feed(self, text: str, start: int = 0) -> list[Sentence]:
        """Return the sentences that this delta completes. There is no mark in `text[:start]`, which
        is 0 if `ends_if_space`."""
        pieces = self._pieces
        pieces.append(text)
        if not self.ends_if_space:
            self._search_from = self._chars + start
            self._chars += len(text)
            boundary = _find_boundary(text, start)
            if boundary is None:
                return self._wait()
            if boundary.end() == len(text) and boundary[0] in STOPS:
                # Only the next character tells a full stop from a decimal point.
                self.ends_if_space = True
                return self._wait()
        else:
            self._chars += len(text)
            if not text.strip(_AFTER_MARKS):
                return self._wait()
        return self._cut("".join(pieces))

    def close(self) -> list[Sentence]:
        """End the part: return what is left as a last sentence."""
        rest = "".join(self._pieces)[1:]
        return [self._sentence(rest, ends_line=True)] if rest.strip() else []

    def _wait(self) -> list[Sentence]:
        if self._chars > 4 * MAX_CHARS:
            self._keep("".join(self._pieces))
        return []

    def _cut(self, text: str) -> list[Sentence]:
        sentences: list[Sentence] = []
        start = 1
        end = _find_end(text, self._search_from)
        while end is not None:
            stop = end.end()
            sentences.append(self._sentence(text[start:stop], ends_line=text[stop - 1] == "\n"))
            start = stop
            end = _find_end(text, start)
        self.ends_if_space = text[-1] in _AFTER_MARKS
        self._keep(text[start - 1 :])
        return sentences

    def _keep(self, text: str) -> None:
        if len(text) > _MAX_KEPT_CHARS:
            text = text[0] + self._bound(text[1:])
        self._pieces, self._chars, self._search_from = [text], len(text), 1

    def _bound(self, text: str) -> str:
        if len(text) <= _MAX_KEPT_CHARS:
            return text
        self._is_whole = False
        return text[:MAX_CHARS] + text[-MAX_CHARS:]

    def _sentence(self, text: str, *, ends_line: bool) -> Sentence:
        if len(text) > _MAX_KEPT_CHARS:
            text = self._bound(text)
        sentence = Sentence(text, self._begins_line, ends_line, self._is_whole)
        self._begins_line, self._is_whole = ends_line, True
        return sentence
