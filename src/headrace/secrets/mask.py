"""Masks secrets in text, also if it arrives in pieces."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

import msgspec

from headrace.errors import UsageError
from headrace.secrets.escape import UnescapingFinder
from headrace.secrets.finder import Finder, PatternFinder, Span, Trie, ValueFinder
from headrace.secrets.pattern import SecretPattern

MARK = "[redacted]"
# Shorter values occur in ordinary words.
_MIN_SECRET_CHARS = 4


class Mask:
    """The values and patterns to hide.

    `hide()` masks a whole text, `text()` a text that arrives in pieces.
    """

    def __init__(
        self, secrets: Iterable[str] = (), patterns: Sequence[SecretPattern] = (), mark: str = MARK
    ) -> None:
        values = [form for secret in secrets for form in _forms(secret, mark)]
        self._trie = Trie(values)
        self._patterns = tuple(patterns)
        self.mark = mark

    def finders(self) -> list[Finder]:
        """Create finders for one text."""
        found: list[Finder] = [ValueFinder(self._trie)] if self._trie.first else []
        return [*found, *map(PatternFinder, self._patterns)]

    def text(self) -> MaskedText:
        """Create a mask for a streamed text."""
        return MaskedText(self.finders(), self.mark)

    def json_text(self) -> MaskedText:
        """Create a mask for JSON that is streamed as written; escapes are understood."""
        mark = msgspec.json.encode(self.mark).decode()[1:-1]
        return MaskedText([UnescapingFinder(self.finders())], mark)

    def hide(self, text: str) -> str:
        """Return a text without secrets; the same object if there are none."""
        return _mask_spans(self.text(), text)

    def hide_json(self, text: str) -> str:
        """Return JSON text without secrets; escapes are understood."""
        return _mask_spans(self.json_text(), text)

    def has_secret(self, text: str) -> bool:
        """Return whether a text contains one of the fixed values; patterns do not count."""
        return bool(self._trie.first and ValueFinder(self._trie).feed(text))


def _mask_spans(told: MaskedText, text: str) -> str:
    made = told.feed(text) + told.close()
    return made if told.is_changed else text


def _forms(secret: str, mark: str) -> set[str]:
    """Return a value as it is, as it is written in JSON, and as it is written in a URL."""
    if len(secret) < _MIN_SECRET_CHARS or secret in mark:
        raise UsageError(
            f"expected a secret of {_MIN_SECRET_CHARS} characters or more that is not a part of "
            f"{mark!r}; got one of {len(secret)}"
        )
    written = msgspec.json.encode(secret).decode()[1:-1]
    # Imported late: it takes a millisecond, and programs without a key do not get here.
    from urllib.parse import quote  # noqa: PLC0415

    return {secret, written, quote(secret, safe="")}


class MaskedText:
    """Masks one streamed text.

    Text that may still become a secret is held back; `close()` returns the rest.
    """

    def __init__(self, finders: Sequence[Finder], mark: str) -> None:
        self.is_changed = False
        self._finders = finders
        self._mark = mark
        self._held = ""
        # How many characters are decided, and how many were returned for them.
        self.decided = 0
        self._told = 0
        self._spans: list[Span] = []
        self._hidden_to = 0
        # Where each hidden span ended, and by how much the text after it has map_position.
        self._moves: list[tuple[int, ...]] = []

    def feed(self, text: str) -> str:
        """Return the text that is safe after this piece."""
        self._held += text
        for finder in self._finders:
            if spans := finder.feed(text):
                self._add(spans)
        return self._release()

    def close(self) -> str:
        """Return the rest at the end of the text."""
        for finder in self._finders:
            self._add(finder.close())
        return self._release()

    def map_position(self, position: int) -> int:
        """Map a decided position of the original text to the masked text."""
        at = bisect_left(self._moves, (position,)) - 1
        if at < 0:
            return position
        _, end, shift = self._moves[at]
        # Positions inside a hidden span map to the end of its mark.
        return max(position, end) + shift

    def _release(self) -> str:
        finders = self._finders
        seen = self.decided + len(self._held)
        decided = min((finder.decided for finder in finders), default=seen)
        is_plain = not self._spans or self._spans[0][0] >= decided
        if is_plain and self._hidden_to <= self.decided:
            told, self._held = self._cut(decided)
            return told
        return "".join(self._pieces(decided))

    def _cut(self, decided: int) -> tuple[str, str]:
        size = decided - self.decided
        self.decided = decided
        self._told += size
        return self._held[:size], self._held[size:]

    def _pieces(self, decided: int) -> list[str]:
        """Yield the text up to a position, with one mark per hidden span."""
        pieces: list[str] = []
        while self._spans and self._spans[0][0] < decided:
            start, end = self._spans.pop(0)
            self._plain(start, pieces)
            self._hide(max(start, self.decided), end, pieces)
        self._plain(decided, pieces)
        return pieces

    def _add(self, spans: list[Span]) -> None:
        """Insert spans in order, merging those that overlap."""
        for start, end in spans:
            last = self._spans[-1] if self._spans else (0, -1)
            if last[0] <= start <= last[1]:
                self._spans[-1] = (last[0], max(last[1], end))
            else:
                insort(self._spans, (start, end))

    def _plain(self, upto: int, pieces: list[str]) -> None:
        """Yield the visible text up to a position."""
        self._skip(min(upto, self._hidden_to))
        if upto > self.decided:
            told, self._held = self._cut(upto)
            pieces.append(told)

    def _hide(self, start: int, end: int, pieces: list[str]) -> None:
        if end <= self._hidden_to:
            return
        # A span that continues or touches the previous one is merged into it.
        if not self._moves or start > self._hidden_to:
            pieces.append(self._mark)
            self._told += len(self._mark)
            self._moves.append((start, end, 0))
        self.is_changed = True
        self._hidden_to = end
        first = self._moves[-1][0]
        self._moves[-1] = (first, end, self._told - end)

    def _skip(self, upto: int) -> None:
        """Drop hidden text."""
        if upto > self.decided:
            self._held = self._held[upto - self.decided :]
            self.decided = upto
