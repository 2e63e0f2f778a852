"""`RunHistory`: the messages that a run sends to the model, and their compaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headrace.engine.history.compaction import Compactor
from headrace.errors import UsageError
from headrace.events import HistoryCompacted
from headrace.messages import Assembler, Message


class RunHistory:
    """The history before a run, with the answer of the run so far."""

    __slots__ = ("_assembler", "_compactor", "_messages", "_run_id")

    def __init__(
        self,
        messages: tuple[Message, ...],
        assembler: Assembler,
        compactor: Compactor | None,
        run_id: str,
    ) -> None:
        self._messages = messages
        self._assembler = assembler
        self._compactor = compactor
        self._run_id = run_id

    def messages(self) -> tuple[Message, ...]:
        """Return the messages for the next request."""
        message = self._assembler.message()
        return (*self._messages, message) if message.turns else self._messages

    async def compact(self, *, is_forced: bool) -> HistoryCompacted | None:
        """Call the compactor. Returns the event if it shortened the history. The answer of this
        run counts towards the limits, but is not shortened."""
        if self._compactor is None:
            return None
        compacted = await self._compactor.compact(self.messages(), is_forced=is_forced)
        if compacted is None:
            return None
        kept = tuple(m for m in compacted if m.run_id != self._run_id or m.role != "assistant")
        before, self._messages = self._messages, kept
        entries = describe_changes(before, kept)
        return HistoryCompacted(len(before), len(kept), self._compactor.name, entries)

    def restore(self, compactions: Sequence[HistoryCompacted]) -> None:
        """Shorten the history as an earlier process has done; see `restore_messages()`."""
        self._messages = restore_messages(self._messages, compactions)


def restore_messages(
    messages: tuple[Message, ...], compactions: Sequence[HistoryCompacted]
) -> tuple[Message, ...]:
    """Return the history before a run as an earlier process has shortened it. Raises `UsageError`
    if the events belong to another history."""
    for event in compactions:
        if event.before != len(messages):
            raise UsageError(
                f"the run began with {event.before} messages before it; got"
                f" {len(messages)}: give the same input and history"
            )
        messages = tuple(
            messages[entry] if isinstance(entry, int) else msgspec.convert(entry, Message)
            for entry in event.messages
        )
    return messages


def describe_changes(
    before: Sequence[Message], after: Sequence[Message]
) -> tuple[int | dict[str, object], ...]:
    """Describe a history by another one: the number of each message that is in both, and the
    others in full."""
    numbers = {id(message): number for number, message in enumerate(before)}
    return tuple(
        numbers[id(message)] if id(message) in numbers else msgspec.to_builtins(message)
        for message in after
    )
