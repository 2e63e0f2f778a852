"""The calls of a run: each is told once when it is called, and once when it is answered."""

from __future__ import annotations

from headrace.events import (
    JSONObject,
    ToolActivity,
    ToolCallFinished,
    ToolCallMalformed,
    ToolOutput,
    ToolResult,
)
from headrace.projections.thinking.frame import ThinkingFrame, ToolCallStart
from headrace.projections.thinking.tool_result import Outcome, kind_of, result_frames
from headrace.wire.json_value import as_object

_ACTIVITY_ENDS = {"completed": True, "failed": False, "incomplete": False}


class CallBook:
    """Knows the calls that are shown, and what was told of them. Calls of others are nothing."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._called: set[str] = set()
        self._answered: set[str] = set()
        self._ended: dict[str, bool] = {}

    def add(self, call_id: str, name: str) -> None:
        """A call that is shown has appeared."""
        self._names[call_id] = name

    def finished(self, event: ToolCallFinished, at_ms: int) -> list[ThinkingFrame]:
        """Its arguments are whole."""
        args = as_object(event.args)
        if args != event.args:
            args = {"input": event.args}
        return self._call(event.call_id, args, at_ms)

    def malformed(self, event: ToolCallMalformed, at_ms: int) -> list[ThinkingFrame]:
        """Its arguments never became whole."""
        return self._call(event.call_id, {}, at_ms, event.error)

    def activity(self, event: ToolActivity) -> None:
        """Providers that show no output of a tool still say that it has ended."""
        if event.status in _ACTIVITY_ENDS and event.call_id in self._names:
            self._ended[event.call_id] = _ACTIVITY_ENDS[event.status]

    def ended(self, at_ms: int) -> list[ThinkingFrame]:
        """The results of provider-run tools that ended without an output."""
        waiting, self._ended = self._ended, {}
        return [
            frame
            for call_id, is_good in waiting.items()
            for frame in self._answer(call_id, Outcome(is_error=not is_good), at_ms)
        ]

    def output(self, event: ToolOutput, at_ms: int) -> list[ThinkingFrame]:
        """What a provider-run tool gave back."""
        self._ended.pop(event.call_id, None)
        kind = kind_of(self._names.get(event.call_id, ""))
        outcome = Outcome(content=event.content, kind=kind, is_error=event.is_error)
        return self._answer(event.call_id, outcome, at_ms)

    def result(self, event: ToolResult, at_ms: int) -> list[ThinkingFrame]:
        """What a tool of ours gave back."""
        if event.call_id not in self._names:
            return []
        outcome = Outcome(content=event.content, kind=event.kind, is_error=event.is_error)
        return self._answer(event.call_id, outcome, at_ms)

    def _call(
        self, call_id: str, args: JSONObject, at_ms: int, error: str | None = None
    ) -> list[ThinkingFrame]:
        """Once, and before its result: some providers tell the arguments of their own tools
        when those are done."""
        if call_id not in self._names or call_id in self._called:
            return []
        self._called.add(call_id)
        return [ToolCallStart(self._names[call_id], args, at_ms, call_id=call_id, error=error)]

    def _answer(self, call_id: str, outcome: Outcome, at_ms: int) -> list[ThinkingFrame]:
        """Once; what comes later is told in the records alone."""
        if call_id in self._answered:
            return []
        self._answered.add(call_id)
        name = self._names.get(call_id, "")
        return [*self._call(call_id, {}, at_ms), *result_frames(call_id, name, outcome, at_ms)]
