"""Cuts streamed reasoning into finished sentences.

Memory is bounded, and text is only scanned when a delta brings a character that can end a sentence.
"""

from __future__ import annotations

import re

import msgspec

MAX_CHARS = 200
"""How many characters are kept of the start of a sentence, and again of its end."""
_find_boundary = re.compile(r"[.!?\n。！？]").search
_MARKS = ".!?"
_AFTER_MARKS = ".!?\"'”’)*]"
# The pattern begins with the mark, so that the search looks for one of a few characters. A run of
# marks is matched once, from its first: otherwise a thousand dots would take a million steps.
_END = re.compile(
    r"[.!?。！？\n](?:"
    r"(?<=\n)"
    r"|(?<=[。！？])[。！？]*+[”」』\"]?"
    r"|(?<=[.!?])(?<![.!?].)"
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bcf\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)"
    r"(?<!\bSt\.)(?<!\bapprox\.)(?<!\bU\.S\.)(?<!\n\d\.)(?<!\n\d\d\.)(?<!\*\*\d\.)(?<!\*\*\d\d\.)"
    r"(?<!# \d\.)"
    r"[.!?]*+[\"'”’)*\]]*+(?:\n|(?=\s)))"
)


class Sentence(msgspec.Struct, frozen=True, gc=False):
    """One sentence, or a line that is not a sentence. `text` has at most twice `MAX_CHARS`."""

    text: str
    begins_line: bool
    ends_line: bool
    is_whole: bool = True
    """False if the middle was dropped because it was too long."""


class SentenceReader:
    """Turns the deltas of one reasoning part into sentences."""

    def __init__(self) -> None:
        # The first character belongs to the previous sentence: a list number such as "1." looks
        # like the end of a sentence unless a line break precedes it.
        self._pieces: list[str] = ["\n"]
        self._chars = 1
        self._is_whole = True
        self._begins_line = True
        self._ends_if_space = False
        # Where the search for an end begins: there is none in the text before.
        self._search_from = 1

    @property
    def needs_mark(self) -> bool:
        """Whether no sentence ends before the next mark: text without one may be skipped."""
        return not self._ends_if_space

    def skip(self, text: str) -> None:
        """Take text without a mark, if `needs_mark`: no sentence ends in it."""
        self._pieces.append(text)
        self._chars += len(text)
        self._wait()

    def feed(self, text: str) -> list[Sentence]:
        """Return the sentences that this delta completes."""
        if not self._ends_if_space:
            self._search_from = self._chars
        self._pieces.append(text)
        self._chars += len(text)
        if not self._ends_if_space:
            boundary = _find_boundary(text)
            if boundary is None:
                return self._wait()
            if boundary.end() == len(text) and boundary[0] in _MARKS:
                # Only the next character tells a full stop from a decimal point.
                self._ends_if_space = True
                return self._wait()
        elif not text.strip(_AFTER_MARKS):
            return self._wait()
        return self._cut("".join(self._pieces))

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
        for end in _END.finditer(text, self._search_from):
            is_line = end[0][-1] == "\n"
            sentences.append(self._sentence(text[start : end.end()], ends_line=is_line))
            start = end.end()
        self._ends_if_space = text[-1] in _AFTER_MARKS
        self._keep(text[start - 1 :])
        return sentences

    def _keep(self, text: str) -> None:
        if len(text) > 2 * MAX_CHARS:
            text = text[0] + self._bound(text[1:])
        self._pieces, self._chars, self._search_from = [text], len(text), 1

    def _bound(self, text: str) -> str:
        if len(text) <= 2 * MAX_CHARS:
            return text
        self._is_whole = False
        return text[:MAX_CHARS] + text[-MAX_CHARS:]

    def _sentence(self, text: str, *, ends_line: bool) -> Sentence:
        text = self._bound(text)
        sentence = Sentence(text, self._begins_line, ends_line, self._is_whole)
        self._begins_line, self._is_whole = ends_line, True
        return sentence
