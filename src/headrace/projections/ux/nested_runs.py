"""The runs of sub-agents, as far as the result of their call needs them."""

from __future__ import annotations

from headrace.events import Record
from headrace.messages import Assembler, Message


class NestedRuns:
    """Folds the records of sub-agents until their calls have results."""

    def __init__(self) -> None:
        self._runs: dict[str, Assembler] = {}

    def feed(self, record: Record) -> None:
        """Take a record of a nested run. One that is nested in it belongs to its message."""
        call_id = record.path[0]
        run = self._runs.get(call_id)
        if run is None:
            run = self._runs[call_id] = Assembler(record.path[:1])
        run.feed(record)

    def take(self, call_id: str) -> Message | None:
        """Return the message of a call's sub-agent, and forget it: a later turn may use the id of
        the call again."""
        run = self._runs.pop(call_id, None)
        return None if run is None else run.message()
