"""Pinned messages, which stay in the history whatever a compactor removes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.engine.history.compaction import Compactor
from headrace.messages import Message


class PinningCompactor:
    """A compactor that keeps pinned messages, and remembers its last result."""

    def __init__(self, inner: Compactor, pinned: tuple[Message, ...]) -> None:
        pinning = getattr(inner, "pinning", None)
        self._inner = inner
        if pinned and pinning is not None:
            self._inner = pinning(self._is_pinned)
        self._pinned = pinned
        self.name = inner.name
        self.kept: tuple[Message, ...] | None = None
        """The shortened history, or None if it was not shortened."""

    def _is_pinned(self, message: Message) -> bool:
        return is_among(self._pinned, message)

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        shorter = await self._inner.compact(messages, is_forced=is_forced)
        if shorter is not None:
            self.kept = tuple(_restore_pinned(messages, shorter, self._is_pinned))
        return None if shorter is None else self.kept


def _restore_pinned(
    messages: Sequence[Message], shorter: Sequence[Message], is_pinned: Callable[[Message], bool]
) -> list[Message]:
    """Put pinned messages back that a compactor without pins removed, each before the next
    message that is still there."""
    left = list(shorter)
    for at, message in enumerate(messages):
        if is_pinned(message) and not is_among(left, message):
            after = messages[at + 1 :]
            place = next((n for n, m in enumerate(left) if is_among(after, m)), len(left))
            left.insert(place, message)
    return left


def is_among(messages: Sequence[Message], message: Message) -> bool:
    """Return whether this very object is in the list, not just an equal one."""
    return any(entry is message for entry in messages)
