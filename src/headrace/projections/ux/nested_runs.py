"""The runs of sub-agents: their frames while they go on, and their messages at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from msgspec.structs import replace

from headrace import events as ev
from headrace.events import Record
from headrace.messages import Assembler, Message
from headrace.projections.ux import frame as fr
from headrace.projections.ux.frame import UXFrame

# Requests of sub-agents are shown by the outermost run, because it takes the answers.
_SHOWN_OUTSIDE: Final = (fr.InputRequestedFrame, fr.InputAnsweredFrame, fr.MessageWaiting)


class NestedProjection(Protocol):
    """The projection of a sub-agent's run."""

    def feed(self, record: Record) -> list[UXFrame]:
        """Return the frames of the next record."""
        ...


CreateNested: TypeAlias = Callable[[str, Callable[[], Message]], NestedProjection]


class _NestedRun:
    """One run of a sub-agent."""

    __slots__ = ("assembler", "projection")

    def __init__(self, segment_id: str, create: CreateNested) -> None:
        self.assembler = Assembler()
        self.projection = create(segment_id, self.assembler.message)


class NestedRuns:
    """Projects the records of sub-agents, and folds them until their calls have results.

    `create` makes the projection of a sub-agent, for the id of its call's segment and a function
    that returns its message.
    """

    __slots__ = ("_create", "_runs")

    def __init__(self, create: CreateNested) -> None:
        self._create = create
        self._runs: dict[str, _NestedRun] = {}

    def feed(self, record: Record, event_id: str, segment_id: str) -> list[UXFrame]:
        """Return the frames of a record of a nested run. One that is nested in it belongs to its
        message."""
        call_id = record.path[0]
        inner = replace(record, path=record.path[1:])
        run = self._runs.get(call_id)
        # A step that was discarded and tried again may use the id of a call again.
        if run is None or (not inner.path and isinstance(record.event, ev.RunStarted)):
            run = self._runs[call_id] = _NestedRun(segment_id, self._create)
        run.assembler.feed(inner)
        return [
            fr.NestedFrame(event_id, call_id, frame)
            for frame in run.projection.feed(inner)
            if not isinstance(frame, _SHOWN_OUTSIDE)
        ]

    def take(self, call_id: str) -> Message | None:
        """Return the message of a call's sub-agent, and forget it: a later turn may use the id of
        the call again."""
        run = self._runs.pop(call_id, None)
        return None if run is None else run.assembler.message()
