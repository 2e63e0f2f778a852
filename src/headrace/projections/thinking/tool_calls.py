"""Tool calls in the thinking protocol: each is announced once and answered once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.events import JSONObject
from headrace.projections.thinking.frame import ThinkingFrame, ToolCallStart
from headrace.projections.thinking.tool_result import ToolAnswer, result_frames
from headrace.status.tool_kind import ToolKind, tool_kind
from headrace.wire.json.value import as_object

_ACTIVITY_ENDS = {"completed": True, "failed": False, "incomplete": False}
# How results of provider-run tools are shown. Client tools say it themselves.
_RESULT_KINDS: dict[ToolKind | None, str] = {
    "web_search": "web_search",
    "image_generation": "image",
}


class _Call(msgspec.Struct, eq=False):
    """A call that is shown. `answered_in` is the step that brought its result."""

    call_id: str
    name: str
    kind: str | None
    step: int
    is_told: bool = False
    answered_in: int | None = None

    def takes(self, step: int) -> bool:
        """Return whether an output in this step, or a later one if it is open, is for this call."""
        return self.step == step or self.answered_in in (None, step)


class ThinkingToolCalls:
    """Keeps the calls that are shown, by part and by id.

    Ids are unique only within a turn, so an id means the latest call that has it. Unknown calls are
    ignored. `step` and `at_ms` are those of the current record.
    """

    def __init__(self) -> None:
        self.step = 0
        self.at_ms = 0
        self._by_part: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._ended: dict[_Call, bool] = {}

    def feed(self, event: object) -> list[ThinkingFrame]:
        """Return the frames of an event about a call that has started."""
        handle = _HANDLERS.get(type(event))
        return [] if handle is None else handle(self, event)

    def add(self, event: ev.ToolCallStarted) -> None:
        """Add a call that is shown."""
        kind = _RESULT_KINDS.get(tool_kind(event.name, event.provider_data))
        call = _Call(event.call_id, event.name, kind, self.step)
        self._by_part[event.part] = self._by_id[event.call_id] = call

    def _finish_arguments(self, event: ev.ToolCallFinished) -> list[ThinkingFrame]:
        args = as_object(event.args)
        if args != event.args:
            args = {"input": event.args}
        return self._announce(self._by_part.get(event.part), args)

    def _fail_arguments(self, event: ev.ToolCallMalformed) -> list[ThinkingFrame]:
        return self._announce(self._by_part.get(event.part), {}, event.error)

    def _activity(self, event: ev.ToolActivity) -> list[ThinkingFrame]:
        """Note a report; some providers show no output, but report the end of a tool."""
        call = self._by_part.get(event.part)
        if call is not None and event.status in _ACTIVITY_ENDS:
            self._ended[call] = _ACTIVITY_ENDS[event.status]
        return []

    def flush_ended(self, at_ms: int) -> list[ThinkingFrame]:
        """Return results for provider-run tools that ended without an output."""
        self.at_ms = at_ms
        waiting, self._ended = self._ended, {}
        return [
            frame
            for call, is_good in waiting.items()
            for frame in self._answer(call, ToolAnswer(is_error=not is_good))
        ]

    def output(self, event: ev.ToolOutput) -> list[ThinkingFrame]:
        """Return the result frames of a provider-run tool; its call may be unknown."""
        call = self._by_id.get(event.call_id)
        if call is None or not call.takes(self.step):
            call = _Call(event.call_id, "", None, self.step, is_told=True)
            self._by_id[event.call_id] = call
        self._ended.pop(call, None)
        answer = ToolAnswer(content=event.content, kind=call.kind, is_error=event.is_error)
        return self._answer(call, answer)

    def _result(self, event: ev.ToolResult) -> list[ThinkingFrame]:
        call = self._by_id.get(event.call_id)
        if call is None:
            return []
        answer = ToolAnswer(content=event.content, kind=event.kind, is_error=event.is_error)
        return self._answer(call, answer)

    def discard(self, step: int) -> None:
        """Remove the calls of a discarded step, and reopen calls that it had answered."""
        self._by_part = {at: call for at, call in self._by_part.items() if call.step != step}
        self._by_id = {call.call_id: call for call in self._by_part.values()}
        for call in self._by_part.values():
            if call.answered_in == step:
                call.answered_in = None

    def _answer(self, call: _Call, answer: ToolAnswer) -> list[ThinkingFrame]:
        """Return the result frames of a call, once. Later results are ignored."""
        if call.answered_in is not None:
            return []
        call.answered_in = self.step
        announced = self._announce(call, {})
        return [*announced, *result_frames(call.call_id, call.name, answer, self.at_ms)]

    def _announce(
        self, call: _Call | None, args: JSONObject, error: str | None = None
    ) -> list[ThinkingFrame]:
        """Announce a call once: with its arguments, or before its result if that is first."""
        if call is None or call.is_told:
            return []
        call.is_told = True
        return [ToolCallStart(call.name, args, self.at_ms, call_id=call.call_id, error=error)]


_Handler: TypeAlias = Callable[[ThinkingToolCalls, Any], list[ThinkingFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.ToolCallFinished: ThinkingToolCalls._finish_arguments,
    ev.ToolCallMalformed: ThinkingToolCalls._fail_arguments,
    ev.ToolActivity: ThinkingToolCalls._activity,
    ev.ToolResult: ThinkingToolCalls._result,
}
