"""The tools of a message while they are called and run: which call is meant, and its frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace import events as ev
from headrace.projections.ux.event import segment_id
from headrace.projections.ux.frame import ToolCallStarted, UXFrame
from headrace.projections.ux.live_segment import LiveSegment
from headrace.projections.ux.tool_kind import ANY_TOOL, ToolKind, kind_of
from headrace.projections.ux.tool_value import ToolValue, tool_value


class LiveCall(LiveSegment):
    """A tool that is called. `answered_in` is the step that brought its result."""

    __slots__ = (
        "answered_in",
        "call_id",
        "event_id",
        "is_malformed",
        "kind",
        "started_ms",
        "status",
        "tool_started_ms",
    )

    def __init__(self, started: ToolCallStarted, kind: ToolKind, step: int) -> None:
        super().__init__(started.segment_id, step)
        self.event_id = started.event_id
        self.call_id = started.call_id
        self.kind = kind
        self.status = "writing"
        self.started_ms = started.created_at
        self.tool_started_ms: int | None = None
        self.answered_in: int | None = None
        self.is_malformed = False

    @property
    def has_result(self) -> bool:
        return self.answered_in is not None and not self.is_malformed

    def takes(self, step: int) -> bool:
        """Whether what a tool gave in this step is this call's: later steps may answer what was
        left open."""
        return self.step == step or self.answered_in in (None, step)


class ToolDesk:
    """Knows the calls by their parts and by their ids, of which the latest is meant. `step` and
    `at_ms` are those of the record that is being told."""

    def __init__(self) -> None:
        self.step = 0
        self.at_ms = 0
        self._all: list[LiveCall] = []
        self._by_id: dict[str, LiveCall] = {}
        self._by_part: dict[int, LiveCall] = {}

    def feed(self, event: object) -> list[UXFrame]:
        """The frames of what is said of a call that has started."""
        handle = _HANDLERS.get(type(event))
        return [] if handle is None else handle(self, event)

    # -- calls begin

    def start(
        self, event: ev.ToolCallStarted, event_id: str, number: int
    ) -> tuple[LiveCall, UXFrame]:
        """The model calls a tool."""
        kind = kind_of(event.name, event.executor, event.provider_data)
        call, frame = self._started(event, kind, event_id, number)
        self._by_part[event.part] = call
        return call, frame

    def start_unknown(
        self, event: ev.ToolOutput, event_id: str, number: int
    ) -> tuple[LiveCall, UXFrame]:
        """A result whose call is told nowhere."""
        return self._started(event, ANY_TOOL, event_id, number)

    def _started(
        self, event: ev.ToolCallStarted | ev.ToolOutput, kind: ToolKind, event_id: str, number: int
    ) -> tuple[LiveCall, UXFrame]:
        call_event = event if isinstance(event, ev.ToolCallStarted) else None
        frame = kind.started(
            event_id,
            event.call_id,
            "" if call_event is None else call_event.name,
            "",
            number,
            self.at_ms,
            segment_id(event_id, event.part),
            "provider" if call_event is None else call_event.executor,
            event.output,
            event.item_id,
        )
        call = LiveCall(frame, kind, self.step)
        self._all.append(call)
        self._by_id[event.call_id] = call
        return call, frame

    # -- and go on

    def _updated(self, call: LiveCall, status: str, **more: Any) -> list[UXFrame]:
        call.status = status
        return [call.kind.update(call.event_id, call.call_id, status, **more)]

    def _args(self, event: ev.ToolCallArgsDelta) -> list[UXFrame]:
        call = self._by_part[event.part]
        return self._updated(call, call.status, args_delta=event.text)

    def _finished(self, event: ev.ToolCallFinished) -> list[UXFrame]:
        return self._updated(self._by_part[event.part], "ready", args=event.args)

    def _malformed(self, event: ev.ToolCallMalformed) -> list[UXFrame]:
        call = self._by_part[event.part]
        # What the model wrote stands for what it should have.
        frames = self._updated(call, call.status, args=event.raw) if event.raw else []
        if call.has_result:
            return frames
        frames += self._answered(call, ToolValue(error=event.error))
        call.is_malformed = True
        return frames

    def _activity(self, event: ev.ToolActivity) -> list[UXFrame]:
        return self._updated(self._by_part[event.part], event.status, detail=event.detail)

    def _running(self, event: ev.ToolStarted) -> list[UXFrame]:
        call = self._by_id.get(event.call_id)
        if call is None:
            return []
        call.tool_started_ms = self.at_ms
        return self._updated(call, "running")

    def _progress(self, event: ev.ToolProgress) -> list[UXFrame]:
        call = self._by_id.get(event.call_id)
        if call is None:
            return []
        status = event.status or call.status
        return self._updated(call, status, progress=event.progress, logs_delta=event.log)

    # -- and are answered

    def awaits(self, event: ev.ToolOutput) -> bool:
        """Whether there is a call that this is the result of."""
        call = self._by_id.get(event.call_id)
        return call is not None and call.takes(self.step)

    def output(self, event: ev.ToolOutput) -> list[UXFrame]:
        """What a provider's tool gave. Nothing does not replace something."""
        call = self._by_id[event.call_id]
        if call.has_result and not event.content and not event.is_error:
            return []
        said = tool_value(event.content, is_error=event.is_error)
        return self._answered(call, said, None, self.at_ms - call.started_ms)

    def _result(self, event: ev.ToolResult) -> list[UXFrame]:
        call = self._by_id.get(event.call_id)
        if call is None or call.step != self.step:
            return []
        began = call.tool_started_ms
        ran_ms = None if began is None else self.at_ms - began
        said = tool_value(event.content, is_error=event.is_error)
        return self._answered(call, said, event.kind, ran_ms)

    def _answered(
        self, call: LiveCall, said: ToolValue, kind: str | None = None, ran_ms: int | None = None
    ) -> list[UXFrame]:
        call.answered_in, call.is_malformed = self.step, False
        result = call.kind.result
        return [result(call.event_id, call.call_id, said.result, said.error, kind, ran_ms)]

    def discard(self, step: int) -> tuple[str, ...]:
        """A step is taken back; returns the segments of earlier calls that it had answered."""
        self._all = [call for call in self._all if call.step != step]
        self._by_id = {call.call_id: call for call in self._all}
        again = [call for call in self._all if call.answered_in == step]
        for call in again:
            call.answered_in = None
        return tuple(call.id for call in again)


_Handler: TypeAlias = Callable[[ToolDesk, Any], list[UXFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.ToolCallArgsDelta: ToolDesk._args,
    ev.ToolCallFinished: ToolDesk._finished,
    ev.ToolCallMalformed: ToolDesk._malformed,
    ev.ToolActivity: ToolDesk._activity,
    ev.ToolStarted: ToolDesk._running,
    ev.ToolProgress: ToolDesk._progress,
    ev.ToolResult: ToolDesk._result,
}
