"""Tool calls in the ux protocol: finds the call that a record is about, and makes its frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace import events as ev
from headrace.projections.tool_value import ToolValue, tool_value
from headrace.projections.ux.args_preview import preview_args
from headrace.projections.ux.event import segment_id, to_event
from headrace.projections.ux.frame import UXFrame
from headrace.projections.ux.live_message import LiveMessage
from headrace.projections.ux.live_segment import LiveSegment
from headrace.projections.ux.nested_runs import NestedRuns
from headrace.projections.ux.segment import MessageEvent
from headrace.projections.ux.tool_kind import ANY_TOOL, ToolKind, kind_of


class LiveCall(LiveSegment, eq=False):
    """A tool call that was sent. `answered_in` is the step that brought its result."""

    call_id: str
    kind: ToolKind
    started_ms: int
    status: str = "writing"
    tool_started_ms: int | None = None
    answered_in: int | None = None
    is_malformed: bool = False

    @property
    def has_result(self) -> bool:
        return self.answered_in is not None and not self.is_malformed

    def takes(self, step: int) -> bool:
        """Return whether an output in this step, or a later one if it is open, is for this call."""
        return self.step == step or self.answered_in in (None, step)


class UXToolCalls:
    """Keeps the calls of a message, by part and by id (the latest call with that id)."""

    __slots__ = ("_all", "_by_id", "_by_part", "_message", "_nested", "_provider_requests")

    def __init__(self, message: LiveMessage, nested: NestedRuns) -> None:
        self._message = message
        self._nested = nested
        self._all: list[LiveCall] = []
        self._by_id: dict[str, LiveCall] = {}
        self._by_part: dict[int, LiveCall] = {}
        # Approvals for which the provider asks, with the ids of their calls.
        self._provider_requests: dict[str, str] = {}

    def feed(self, event: object) -> list[UXFrame]:
        """Return the frames of an event about a call that has started."""
        handle = _HANDLERS.get(type(event))
        return [] if handle is None else handle(self, event)

    def segment_id_of(self, call_id: str) -> str:
        """Return the id of a call's segment, or an empty text if there is none."""
        call = self._by_id.get(call_id)
        return "" if call is None else call.id

    # -- start

    def start(self, event: ev.ToolCallStarted | ev.ToolOutput) -> tuple[LiveCall, UXFrame]:
        """Return a new call and its first frame. The call of a `ToolOutput` is unknown."""
        name, kind = "", ANY_TOOL
        executor: ev.Executor = "provider"
        if isinstance(event, ev.ToolCallStarted):
            name, executor = event.name, event.executor
            kind = kind_of(name, executor, event.provider_data)
        message = self._message
        id = segment_id(message.event_id, event.part)
        frame = kind.started(
            message.event_id,
            event.call_id,
            name,
            "",
            len(message.segments),
            message.at_ms,
            id,
            executor,
            event.output,
            event.item_id,
        )
        call = LiveCall(id, message.step, event.call_id, kind, message.at_ms)
        self._all.append(call)
        self._by_id[event.call_id] = self._by_part[event.part] = call
        return call, frame

    # -- updates

    def _update_frame(self, call: LiveCall, status: str, **more: Any) -> list[UXFrame]:
        call.status = status
        return [call.kind.update(self._message.event_id, call.call_id, status, **more)]

    def _args(self, event: ev.ToolCallArgsDelta) -> list[UXFrame]:
        call = self._by_part[event.part]
        return self._update_frame(call, call.status, args_delta=event.text)

    def _on_finished(self, event: ev.ToolCallFinished) -> list[UXFrame]:
        call, preview = self._by_part[event.part], preview_args(event.args)
        return self._update_frame(call, "ready", args=event.args, args_preview=preview)

    def _on_malformed(self, event: ev.ToolCallMalformed) -> list[UXFrame]:
        call = self._by_part[event.part]
        # The raw text stands in for the arguments.
        frames = self._update_frame(call, call.status, args=event.raw) if event.raw else []
        if call.has_result:
            return frames
        frames += self._answer(call, ToolValue(error=event.error))
        call.is_malformed = True
        return frames

    def _activity(self, event: ev.ToolActivity) -> list[UXFrame]:
        return self._update_frame(self._by_part[event.part], event.status, detail=event.detail)

    def _show_request(self, event: ev.InputRequested) -> list[UXFrame]:
        if event.server is not None:
            self._provider_requests[event.request_id] = event.call_id
        return []

    def _show_answer(self, event: ev.InputAnswered) -> list[UXFrame]:
        """End a call that only asked for an approval, and has got it."""
        call_id = self._provider_requests.pop(event.request_id, None)
        call = None if call_id is None else self._by_id.get(call_id)
        if call is None or event.decision != "accepted":
            return []
        return self._update_frame(call, "completed")

    def _running(self, event: ev.ToolStarted) -> list[UXFrame]:
        call = self._by_id.get(event.call_id)
        if call is None:
            return []
        call.tool_started_ms = self._message.at_ms
        return self._update_frame(call, "running")

    def _progress(self, event: ev.ToolProgress) -> list[UXFrame]:
        call = self._by_id.get(event.call_id)
        if call is None:
            return []
        status = event.status or call.status
        return self._update_frame(call, status, progress=event.progress, logs_delta=event.log)

    # -- results

    def awaits(self, event: ev.ToolOutput) -> bool:
        """Return whether a call is waiting for this output."""
        call = self._by_id.get(event.call_id)
        return call is not None and call.takes(self._message.step)

    def output(self, event: ev.ToolOutput) -> list[UXFrame]:
        """Return the frames of a provider tool's output.

        An empty one replaces no result, and is none for a call that waits for approval.
        """
        call = self._by_id[event.call_id]
        has_nothing = not event.content and not event.is_error
        if has_nothing and (call.has_result or call.status == ev.APPROVAL_REQUESTED):
            return []
        said = tool_value(event.content, is_error=event.is_error)
        return self._answer(call, said, None, self._message.at_ms - call.started_ms)

    def _result(self, event: ev.ToolResult) -> list[UXFrame]:
        self._message.note_activity(None)
        nested = self._nested.take(event.call_id)
        call = self._by_id.get(event.call_id)
        if call is None or call.step != self._message.step:
            return []
        began = call.tool_started_ms
        ran_ms = None if began is None else self._message.at_ms - began
        said = tool_value(event.content, is_error=event.is_error)
        did = None if nested is None else to_event(nested, event_id=call.id)
        return self._answer(call, said, event.kind, ran_ms, did)

    def _answer(
        self,
        call: LiveCall,
        said: ToolValue,
        kind: str | None = None,
        ran_ms: int | None = None,
        nested: MessageEvent | None = None,
    ) -> list[UXFrame]:
        call.answered_in, call.is_malformed = self._message.step, False
        result, event_id = call.kind.result, self._message.event_id
        return [result(event_id, call.call_id, said.result, said.error, kind, ran_ms, nested)]

    def discard(self, step: int) -> tuple[str, ...]:
        """Take back a step. Return the segments of earlier calls that it had answered."""
        self._all = [call for call in self._all if call.step != step]
        self._by_id = {call.call_id: call for call in self._all}
        again = [call for call in self._all if call.answered_in == step]
        for call in again:
            call.answered_in = None
        return tuple(call.id for call in again)


_Handler: TypeAlias = Callable[[UXToolCalls, Any], list[UXFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.ToolCallArgsDelta: UXToolCalls._args,
    ev.ToolCallFinished: UXToolCalls._on_finished,
    ev.ToolCallMalformed: UXToolCalls._on_malformed,
    ev.ToolActivity: UXToolCalls._activity,
    ev.InputRequested: UXToolCalls._show_request,
    ev.InputAnswered: UXToolCalls._show_answer,
    ev.ToolStarted: UXToolCalls._running,
    ev.ToolProgress: UXToolCalls._progress,
    ev.ToolResult: UXToolCalls._result,
}
