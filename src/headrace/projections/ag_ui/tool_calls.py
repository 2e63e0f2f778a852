"""Tool calls in AG-UI: their arguments, progress and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.events import JSONObject
from headrace.projections.ag_ui import frame as fr
from headrace.projections.ag_ui.frame import AGUIFrame
from headrace.projections.ag_ui.tool_content import to_tool_content
from headrace.projections.call_ids import CallIds, CallPath

_UNKNOWN_TOOL = "provider_tool"
_ACTIVITY_ENDS = {"completed": True, "failed": False, "incomplete": False}
_DISCARDED = "discarded: the step is tried again"


class Call(msgspec.Struct, eq=False):
    """A call that was announced."""

    id: str
    name: str
    step: int
    is_provider: bool = False
    is_open: bool = True
    is_answered: bool = False
    ended_well: bool | None = None
    """How a tool of the provider that showed no output has ended, as far as it is known."""


class AGUIToolCalls:
    """Keeps the calls of one agent, by part and by the provider's id. `subagent_run_id` is in all
    events of a sub-agent."""

    def __init__(self, ids: CallIds, path: CallPath, subagent_run_id: str | None) -> None:
        self._ids = ids
        self._path = path
        self._tag = subagent_run_id
        self._by_part: dict[int, Call] = {}
        self._by_id: dict[str, Call] = {}

    def feed(self, event: object) -> list[AGUIFrame]:
        """Return the events of a call that was announced."""
        handle = _HANDLERS.get(type(event))
        return [] if handle is None else handle(self, event)

    def find(self, call_id: str) -> Call | None:
        """Return the latest call with this provider's id."""
        return self._by_id.get(call_id)

    # -- arguments

    def start(self, event: ev.ToolCallStarted, step: int, message_id: str) -> list[AGUIFrame]:
        """Announce a call of a step. It belongs to this message."""
        call = self._add(event.call_id, event.part, event.name, step)
        call.is_provider = event.executor == "provider"
        return [self._start_frame(call, message_id)]

    def _add(self, call_id: str, part: int, name: str, step: int) -> Call:
        call = Call(self._ids.add(self._path, call_id, part), name, step)
        self._by_part[part] = self._by_id[call_id] = call
        return call

    def _start_frame(self, call: Call, message_id: str) -> AGUIFrame:
        return fr.ToolCallStart(
            tool_call_id=call.id,
            tool_call_name=call.name,
            parent_message_id=message_id,
            subagent_run_id=self._tag,
        )

    def _delta(self, event: ev.ToolCallArgsDelta) -> list[AGUIFrame]:
        call = self._by_part.get(event.part)
        if call is None:
            return []
        return [fr.ToolCallArgs(tool_call_id=call.id, delta=event.text, subagent_run_id=self._tag)]

    def _finish(self, event: ev.ToolCallFinished | ev.ToolCallMalformed) -> list[AGUIFrame]:
        call = self._by_part.get(event.part)
        return [] if call is None else self._end(call)

    def _end(self, call: Call) -> list[AGUIFrame]:
        if not call.is_open:
            return []
        call.is_open = False
        return [fr.ToolCallEnd(tool_call_id=call.id, subagent_run_id=self._tag)]

    def seal(self, event: ev.PartSealed) -> AGUIFrame | None:
        """Return the event of a seal, or None if it is not that of a call."""
        call = self._by_part.get(event.part)
        if call is None:
            return None
        return fr.ReasoningEncryptedValue(
            subtype="tool-call",
            entity_id=call.id,
            encrypted_value=event.value,
            subagent_run_id=self._tag,
        )

    # -- results

    def _result(self, event: ev.ToolResult) -> list[AGUIFrame]:
        call = self._by_id.get(event.call_id)
        if call is None or call.is_answered:
            return []
        content = to_tool_content(event.content)
        return [*self._end(call), self._result_frame(call, content, is_error=event.is_error)]

    def output(self, event: ev.ToolOutput, step: int, message_id: str) -> list[AGUIFrame]:
        """Return the output of a tool that the provider ran; its call may be unknown."""
        frames: list[AGUIFrame] = []
        call = self._by_id.get(event.call_id)
        if call is None or not call.is_provider or call.is_answered:
            call = self._add(event.call_id, event.part, _UNKNOWN_TOOL, step)
            call.is_provider = True
            frames = [self._start_frame(call, message_id)]
        result = self._result_frame(call, to_tool_content(event.content), is_error=event.is_error)
        return [*frames, *self._end(call), result]

    def _result_frame(
        self, call: Call, content: str | list[JSONObject], *, is_error: bool
    ) -> AGUIFrame:
        call.is_answered = True
        return fr.ToolCallResult(
            message_id=f"{call.id}-result",
            tool_call_id=call.id,
            content=content,
            role="tool",
            metadata={"isError": True} if is_error else None,
            subagent_run_id=self._tag,
        )

    def _activity(self, event: ev.ToolActivity) -> list[AGUIFrame]:
        """Note a report; some providers show no output, but report the end of a tool."""
        call = self._by_part.get(event.part)
        if call is not None:
            call.ended_well = _ACTIVITY_ENDS.get(event.status, call.ended_well)
        return []

    def _progress(self, event: ev.ToolProgress) -> list[AGUIFrame]:
        call = self._by_id.get(event.call_id)
        if call is None or call.is_answered:
            return []
        fields = {"status": event.status, "progress": event.progress, "log": event.log}
        content = {name: value for name, value in fields.items() if value is not None}
        snapshot = fr.ActivitySnapshot(
            message_id=f"{call.id}-progress",
            activity_type="tool-progress",
            content={"toolCallId": call.id, **content},
            subagent_run_id=self._tag,
        )
        return [snapshot]

    # -- the end of a turn, of a step and of the run

    def close(self, *, is_over: bool = False) -> list[AGUIFrame]:
        """End calls that are open because the records broke off, and answer tools of the provider
        that ended without an output, so that no client takes them for calls that it has to answer.
        At the end of the run all of them have ended."""
        frames: list[AGUIFrame] = []
        for call in self._by_part.values():
            frames += self._end(call)
            is_ended = is_over or call.ended_well is not None
            if call.is_provider and not call.is_answered and is_ended:
                text = "failed" if call.ended_well is False else ""
                frames.append(self._result_frame(call, text, is_error=not call.ended_well))
        return frames

    def discard(self, step: int) -> tuple[list[str], list[AGUIFrame]]:
        """Forget the calls of a discarded step. Returns their ids, and results for those that have
        none, so that no client runs them."""
        dropped = [call for call in self._by_part.values() if call.step == step]
        results = [
            self._result_frame(call, _DISCARDED, is_error=True)
            for call in dropped
            if not call.is_answered
        ]
        self._by_part = {part: call for part, call in self._by_part.items() if call.step != step}
        return [call.id for call in dropped], results


_Handler: TypeAlias = Callable[[AGUIToolCalls, Any], list[AGUIFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.ToolCallArgsDelta: AGUIToolCalls._delta,
    ev.ToolCallFinished: AGUIToolCalls._finish,
    ev.ToolCallMalformed: AGUIToolCalls._finish,
    ev.ToolActivity: AGUIToolCalls._activity,
    ev.ToolProgress: AGUIToolCalls._progress,
    ev.ToolResult: AGUIToolCalls._result,
}
