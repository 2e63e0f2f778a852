"""The calls of a run: each is told once when it is called, and once when it is answered."""

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
# What results of a provider's tool are shown as; those of ours say it themselves.
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
        """Whether what a provider's tool gave in this step is this call's: later steps may
        answer what was left open."""
        return self.step == step or self.answered_in in (None, step)


class CallBook:
    """Knows the calls that are shown by their parts and by their ids, of which the latest is
    meant: ids are unique in a turn alone. Calls of others are nothing. `step` is that of the
    record that is being told."""

    def __init__(self) -> None:
        self.step = 0
        self._by_part: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._ended: dict[_Call, bool] = {}

    def add(self, event: ToolCallStarted) -> None:
        """A call that is shown has appeared."""
        kind = _RESULT_KINDS.get(tool_kind(event.name, event.provider_data))
        call = _Call(event.call_id, event.name, kind, self.step)
        self._by_part[event.part] = self._by_id[event.call_id] = call

    def finished(self, event: ToolCallFinished, at_ms: int) -> list[ThinkingFrame]:
        """Its arguments are whole."""
        args = as_object(event.args)
        if args != event.args:
            args = {"input": event.args}
        call = self._by_part.get(event.part)
        return [] if call is None else _told(call, args, at_ms)

    def malformed(self, event: ToolCallMalformed, at_ms: int) -> list[ThinkingFrame]:
        """Its arguments never became whole."""
        call = self._by_part.get(event.part)
        return [] if call is None else _told(call, {}, at_ms, event.error)

    def activity(self, event: ToolActivity) -> None:
        """Providers that show no output of a tool still say that it has ended."""
        call = self._by_part.get(event.part)
        if call is not None and event.status in _ACTIVITY_ENDS:
            self._ended[call] = _ACTIVITY_ENDS[event.status]

    def ended(self, at_ms: int) -> list[ThinkingFrame]:
        """The results of provider-run tools that ended without an output."""
        waiting, self._ended = self._ended, {}
        return [
            frame
            for call, is_good in waiting.items()
            for frame in self._answered(call, ToolAnswer(is_error=not is_good), at_ms)
        ]

    def output(self, event: ToolOutput, at_ms: int) -> list[ThinkingFrame]:
        """What a provider-run tool gave back; its call may be told nowhere."""
        call = self._by_id.get(event.call_id)
        if call is None or not call.takes(self.step):
            call = _Call(event.call_id, "", None, self.step)
            call.is_told = True
            self._by_id[event.call_id] = call
        self._ended.pop(call, None)
        answer = ToolAnswer(content=event.content, kind=call.kind, is_error=event.is_error)
        return self._answered(call, answer, at_ms)

    def result(self, event: ToolResult, at_ms: int) -> list[ThinkingFrame]:
        """What a tool of ours gave back."""
        call = self._by_id.get(event.call_id)
        if call is None:
            return []
        answer = ToolAnswer(content=event.content, kind=event.kind, is_error=event.is_error)
        return self._answered(call, answer, at_ms)

    def discard(self, step: int) -> None:
        """A step is taken back: its calls are gone, and what it answered is open again."""
        self._by_part = {at: call for at, call in self._by_part.items() if call.step != step}
        self._by_id = {call.call_id: call for call in self._by_part.values()}
        for call in self._by_part.values():
            if call.answered_in == step:
                call.answered_in = None

    def _answered(self, call: _Call, answer: ToolAnswer, at_ms: int) -> list[ThinkingFrame]:
        """Once; what comes later is told in the records alone."""
        if call.answered_in is not None:
            return []
        call.answered_in = self.step
        told = _told(call, {}, at_ms)
        return [*told, *result_frames(call.call_id, call.name, answer, at_ms)]


def _told(
    call: _Call, args: JSONObject, at_ms: int, error: str | None = None
) -> list[ThinkingFrame]:
    """Once, and before its result: some providers tell the arguments of their own tools
    when those are done."""
    if call.is_told:
        return []
    call.is_told = True
    return [ToolCallStart(call.name, args, at_ms, call_id=call.call_id, error=error)]
