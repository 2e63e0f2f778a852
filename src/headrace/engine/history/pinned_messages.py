"""Pins: messages that stay, whatever a compactor does to the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.engine.history.compaction import Compactor
from headrace.messages import Message


class PinningCompactor:
    """A compactor that remembers what it made, and loses no pinned message."""

    def __init__(self, inner: Compactor, pinned: tuple[Message, ...]) -> None:
        pinning = getattr(inner, "pinning", None)
        self._inner = inner
        if pinned and pinning is not None:
            self._inner = pinning(self._is_pinned)
        self._pinned = pinned
        self.name = inner.name
        self.kept: tuple[Message, ...] | None = None
        """The history as it has become; None where it was left alone."""

    def _is_pinned(self, message: Message) -> bool:
        return is_among(self._pinned, message)

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        made = await self._inner.compact(messages, is_forced=is_forced)
        if made is not None:
            self.kept = tuple(_with_pinned(messages, made, self._is_pinned))
        return None if made is None else self.kept


def _with_pinned(
    messages: Sequence[Message], made: Sequence[Message], is_pinned: Callable[[Message], bool]
) -> list[Message]:
    """A strategy of somebody else's may know no pins: what it lost goes back to its place,
    before the next message that is still there."""
    left = list(made)
    for at, message in enumerate(messages):
        if is_pinned(message) and not is_among(left, message):
            after = messages[at + 1 :]
            place = next((n for n, one in enumerate(left) if is_among(after, one)), len(left))
            left.insert(place, message)
    return left


def is_among(messages: Sequence[Message], message: Message) -> bool:
    """Itself, not one that says the same."""
    return any(one is message for one in messages)
