"""Splits reasoning from text that encloses it in tags, which may be cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
)
"""The tags that models are known to use."""
# Blanks before an opening tag; a stream of nothing but blanks is not held back for ever.
_MAX_BLANKS = 256


class ThinkTags:
    """Splits the text of one output into reasoning and text.

    A block counts only at the beginning of the text; later on, a tag is something the model writes
    about. `pairs` are the tags that models use; with `is_inside` the first pair is open already.
    Once `is_done` is true, the rest is plain text and need not be fed.
    """

    __slots__ = ("_closing", "_held", "_is_inside", "_pairs", "is_done")

    def __init__(self, pairs: Sequence[tuple[str, str]], *, is_inside: bool = False) -> None:
        self._pairs = pairs
        self._closing = pairs[0][1]
        self._is_inside = is_inside
        self._held = ""
        self.is_done = False

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """Return the pieces in order, as pairs `(is_reasoning, text)`; no text is empty."""
        return [piece for piece in self._split(self._held + text) if piece[1]]

    def close(self) -> list[tuple[bool, str]]:
        """Return what was held back because it might have been a tag."""
        held, self._held = self._held, ""
        return [(self._is_inside, held)] if held else []

    def _split(self, text: str) -> Iterator[tuple[bool, str]]:
        self._held = ""
        if self.is_done:
            yield False, text
        elif self._is_inside:
            yield from self._split_inside(text)
        else:
            yield from self._split_before(text)

    def _split_before(self, text: str) -> Iterator[tuple[bool, str]]:
        visible = text.lstrip()
        for opening, closing in self._pairs:
            if visible.startswith(opening):
                self._is_inside, self._closing = True, closing
                blanks = text[: len(text) - len(visible)]
                yield from self._split_inside(blanks + visible[len(opening) :])
                return
        may_begin = any(opening.startswith(visible) for opening, _ in self._pairs)
        if may_begin and len(text) <= _MAX_BLANKS:
            self._held = text
        else:
            self.is_done = True
            yield False, text

    def _split_inside(self, text: str) -> Iterator[tuple[bool, str]]:
        thought, tag, rest = text.partition(self._closing)
        if tag:
            self._is_inside = False
            self.is_done = True
            yield True, thought
            yield False, rest
            return
        keep = _count_overlap(text, self._closing)
        self._held = text[len(text) - keep :]
        yield True, text[: len(text) - keep]


def _count_overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of `tag`."""
    longest = min(len(text), len(tag) - 1)
    return next((n for n in range(longest, 0, -1) if tag.startswith(text[-n:])), 0)
