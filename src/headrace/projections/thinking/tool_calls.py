"""Tool calls in the thinking protocol: each is announced once and answered once."""

from __future__ import annotations

from headrace.events import (
    JSONObject,
    ToolActivity,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    ToolOutput,
    ToolResult,
)
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


class _Call:
    """A call that is shown. `answered_in` is the step that brought its result."""

    __slots__ = ("answered_in", "call_id", "is_told", "kind", "name", "step")

    def __init__(self, call_id: str, name: str, kind: str | None, step: int) -> None:
        self.call_id = call_id
        self.name = name
        self.kind = kind
        self.step = step
        self.is_told = False
        self.answered_in: int | None = None

    def takes(self, step: int) -> bool:
        """Return whether a provider tool's output in this step belongs to this call. Later steps
        may answer a call that is still open."""
        return self.step == step or self.answered_in in (None, step)


class ThinkingToolCalls:
    """Keeps the calls that are shown, by part and by id.

    Ids are unique only within a turn, so an id means the latest call that has it. Unknown calls are
    ignored. `step` is that of the current record.
    """

    def __init__(self) -> None:
        self.step = 0
        self._by_part: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._ended: dict[_Call, bool] = {}

    def add(self, event: ToolCallStarted) -> None:
        """Add a call that is shown."""
        kind = _RESULT_KINDS.get(tool_kind(event.name, event.provider_data))
        call = _Call(event.call_id, event.name, kind, self.step)
        self._by_part[event.part] = self._by_id[event.call_id] = call

    def finish_arguments(self, event: ToolCallFinished, at_ms: int) -> list[ThinkingFrame]:
        """Return the frames for a call whose arguments are complete."""
        args = as_object(event.args)
        if args != event.args:
            args = {"input": event.args}
        call = self._by_part.get(event.part)
        return [] if call is None else _announce(call, args, at_ms)

    def fail_arguments(self, event: ToolCallMalformed, at_ms: int) -> list[ThinkingFrame]:
        """Return the frames for a call whose arguments never became complete."""
        call = self._by_part.get(event.part)
        return [] if call is None else _announce(call, {}, at_ms, event.error)

    def activity(self, event: ToolActivity) -> None:
        """Note a report of the provider; some providers show no output, but report the end of a
        tool."""
        call = self._by_part.get(event.part)
        if call is not None and event.status in _ACTIVITY_ENDS:
            self._ended[call] = _ACTIVITY_ENDS[event.status]

    def flush_ended(self, at_ms: int) -> list[ThinkingFrame]:
        """Return results for provider-run tools that ended without an output."""
        waiting, self._ended = self._ended, {}
        return [
            frame
            for call, is_good in waiting.items()
            for frame in self._answer(call, ToolAnswer(is_error=not is_good), at_ms)
        ]

    def output(self, event: ToolOutput, at_ms: int) -> list[ThinkingFrame]:
        """Return the result frames of a provider-run tool; its call may be unknown."""
        call = self._by_id.get(event.call_id)
        if call is None or not call.takes(self.step):
            call = _Call(event.call_id, "", None, self.step)
            call.is_told = True
            self._by_id[event.call_id] = call
        self._ended.pop(call, None)
        answer = ToolAnswer(content=event.content, kind=call.kind, is_error=event.is_error)
        return self._answer(call, answer, at_ms)

    def result(self, event: ToolResult, at_ms: int) -> list[ThinkingFrame]:
        """Return the result frames of a client tool."""
        call = self._by_id.get(event.call_id)
        if call is None:
            return []
        answer = ToolAnswer(content=event.content, kind=event.kind, is_error=event.is_error)
        return self._answer(call, answer, at_ms)

    def discard(self, step: int) -> None:
        """Remove the calls of a discarded step, and reopen calls that it had answered."""
        self._by_part = {at: call for at, call in self._by_part.items() if call.step != step}
        self._by_id = {call.call_id: call for call in self._by_part.values()}
        for call in self._by_part.values():
            if call.answered_in == step:
                call.answered_in = None

    def _answer(self, call: _Call, answer: ToolAnswer, at_ms: int) -> list[ThinkingFrame]:
        """Return the result frames of a call, once. Later results are ignored."""
        if call.answered_in is not None:
            return []
        call.answered_in = self.step
        told = _announce(call, {}, at_ms)
        return [*told, *result_frames(call.call_id, call.name, answer, at_ms)]


def _announce(
    call: _Call, args: JSONObject, at_ms: int, error: str | None = None
) -> list[ThinkingFrame]:
    """Announce a call once, before its result. Some providers send the arguments of their own tools
    only when those are done."""
    if call.is_told:
        return []
    call.is_told = True
    return [ToolCallStart(call.name, args, at_ms, call_id=call.call_id, error=error)]
