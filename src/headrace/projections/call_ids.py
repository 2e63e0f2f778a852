"""Ids of tool calls that are unique in a whole conversation.

A provider's id of a call is unique only in its turn, and some providers give none. Clients that
keep the calls of all messages in one list need more than that.
"""

from __future__ import annotations

from typing import TypeAlias

from headrace import events as ev
from headrace.events import Record

CallPath: TypeAlias = tuple[str, ...]
"""Provider's ids of the calls that lead to a nested run; empty for the run itself."""


class CallIds:
    """The ids under which clients know the calls of one message.

    Such an id consists of the id of the message and the number of the call's part. A provider's id
    means the latest call that has it.
    """

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id
        self._ids: dict[tuple[CallPath, str], str] = {}

    def feed(self, record: Record) -> None:
        """Add the call of a record, if it has one."""
        event = record.event
        if isinstance(event, ev.ToolCallStarted):
            self.add(record.path, event.call_id, event.part)

    def add(self, path: CallPath, call_id: str, part: int) -> str:
        """Add a call and return its id."""
        parent = self.find(path[:-1], path[-1]) if path else self._message_id
        found = f"{parent or self._message_id}.{part}"
        self._ids[path, call_id] = found
        return found

    def find(self, path: CallPath, call_id: str) -> str | None:
        """Return the id of the latest call with this provider's id, or None."""
        return self._ids.get((path, call_id))
