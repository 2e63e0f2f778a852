"""Turns records into AG-UI events: one run, the sub-agents in it, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from headrace import events as ev
from headrace.events import JSONObject, Record
from headrace.messages import Message
from headrace.projections.ag_ui import frame as fr
from headrace.projections.ag_ui.agent_events import AgentEvents
from headrace.projections.ag_ui.frame import AGUIFrame
from headrace.projections.call_ids import CallIds, CallPath
from headrace.projections.ending import GOES_ON, Terminal, ending
from headrace.usage import Usage

_REASONS = {"approval": "tool_call", "form": "input_required", "text": "input_required"}
_APPROVAL_SCHEMA: JSONObject = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
        "editedArgs": {"type": "object"},
    },
    "required": ["approved"],
}
_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}


class _Subagent(msgspec.Struct, eq=False):
    """A nested run that has not ended."""

    run_id: str
    name: str
    events: AgentEvents
    parent_call_id: str | None
    parent_run_id: str | None


class AGUIProjection:
    """Turns the records of a turn or a run into AG-UI events.

    Feed every record; `close()` returns the last event if no `RunClosed` did. A run that waits for
    input ends with `RUN_FINISHED`, and begins another one with `RUN_STARTED` when it goes on.
    `thread_id` and `run_id` are the client's; by default they are those of Headrace. Only the first
    of several candidates is shown.
    """

    def __init__(
        self,
        message_id: str | None = None,
        *,
        thread_id: str | None = None,
        run_id: str | None = None,
    ) -> None:
        self._message_id = message_id or ""
        self._thread_id = thread_id or ""
        self._run_id = run_id or ""
        self._agent: AgentEvents | None = None
        self._ids = CallIds("")
        self._subagents: dict[CallPath, _Subagent] = {}
        self._started = 0
        self._requests: dict[str, tuple[CallPath, ev.InputRequested]] = {}
        self._is_run = False
        self._is_waiting = False
        self._is_over = False
        self._model: JSONObject = {}
        self._usage = Usage()
        self._result: Any = None
        self._terminal: Terminal | None = None

    def feed(self, record: Record) -> list[AGUIFrame]:
        """Return the events of the next record."""
        if self._is_over:
            return []
        event = record.event
        frames = [] if self._agent is not None else self._start(event)
        if record.path:
            return [*frames, *self._feed_nested(record)]
        assert self._agent is not None
        if type(event) in ev.DELTA_TYPES:
            return self._agent.feed(record)
        if isinstance(event, GOES_ON):
            self._terminal = None
        return [*frames, *self._agent.feed(record), *self._feed_run(event)]

    def close(self) -> list[AGUIFrame]:
        """End the stream: return the last events, unless they were sent already."""
        if self._is_over or self._is_waiting:
            return []
        frames = [] if self._agent is not None else self._start(None)
        return [*frames, *self._end(None)]

    def _start(self, event: object) -> list[AGUIFrame]:
        self._is_run = isinstance(event, ev.RunStarted)
        id = event.run_id if isinstance(event, ev.RunStarted) else None
        if isinstance(event, ev.TurnStarted):
            id = event.response_id
        self._message_id = self._message_id or f"msg_{id or 0}"
        self._run_id = self._run_id or id or self._message_id
        self._thread_id = self._thread_id or self._run_id
        self._ids = CallIds(self._message_id)
        self._agent = AgentEvents(self._message_id, self._ids)
        return [self._run_started()]

    def _run_started(self) -> AGUIFrame:
        return fr.RunStarted(thread_id=self._thread_id, run_id=self._run_id, protocol_version="1.0")

    def _feed_run(self, event: object) -> list[AGUIFrame]:
        """Return the events of what concerns the run as a whole."""
        match event:
            case ev.TurnStarted():
                fields = {"provider": event.provider, "model": event.model}
                self._model = {name: text for name, text in fields.items() if text is not None}
            case ev.TurnFinished() | ev.TurnFailed():
                self._terminal = event
                self._usage += event.usage
            case ev.InputRequested():
                self._requests[event.request_id] = ((), event)
            case ev.InputAnswered():
                self._requests.pop(event.request_id, None)
            case ev.RunSuspended():
                return self._wait(event)
            case ev.RunResumed():
                return self._resume()
            case ev.OutputProduced():
                self._result = event.value
            case ev.RunFinished() | ev.RunFailed():
                self._terminal = event
                self._usage = event.usage
            case ev.RunClosed():
                return self._end(event)
            case _:
                pass
        return []

    # -- sub-agents

    def _feed_nested(self, record: Record) -> list[AGUIFrame]:
        event, path = record.event, record.path
        if isinstance(event, ev.RunStarted):
            return self._start_subagent(path)
        subagent = self._subagents.get(path)
        if subagent is None:
            return []
        if isinstance(event, ev.InputRequested):
            self._requests[event.request_id] = (path, event)
        elif isinstance(event, ev.InputAnswered):
            self._requests.pop(event.request_id, None)
        frames = subagent.events.feed(record)
        if not isinstance(event, ev.RunFinished | ev.RunFailed):
            return frames
        return [*frames, *self._end_subagent(path, event)]

    def _start_subagent(self, path: CallPath) -> list[AGUIFrame]:
        parent = self._subagents.get(path[:-1])
        caller = self._agent if parent is None else parent.events
        call = None if caller is None else caller.calls.find(path[-1])
        closing = self._end_subagent(path, None) if path in self._subagents else []
        self._started += 1
        # A call that was cut off may be run again, which is another run for the client.
        run_id = f"{self._message_id}-agent-{self._started}"
        events = AgentEvents(run_id, self._ids, path, run_id)
        subagent = _Subagent(
            run_id,
            path[-1] if call is None else call.name,
            events,
            None if call is None else call.id,
            None if parent is None else parent.run_id,
        )
        self._subagents[path] = subagent
        return [*closing, _announce(subagent)]

    def _end_subagent(
        self, path: CallPath, event: ev.RunFinished | ev.RunFailed | None
    ) -> list[AGUIFrame]:
        subagent = self._subagents.pop(path)
        frames = subagent.events.close()
        end = ending(event, of="run")
        if end.kind == "finished":
            last: AGUIFrame = fr.SubagentFinished(
                outcome={"type": "success"}, subagent_run_id=subagent.run_id
            )
        else:
            last = fr.SubagentError(
                message=end.message or end.kind,
                code=end.kind if end.kind == "cancelled" else end.category,
                subagent_run_id=subagent.run_id,
            )
        return [*frames, last]

    # -- input

    def _wait(self, event: ev.RunSuspended) -> list[AGUIFrame]:
        """End the stream of a run that waits for input."""
        if event.reason != "input":
            return []
        self._is_waiting = True
        assert self._agent is not None
        frames: list[AGUIFrame] = []
        for path, subagent in reversed(list(self._subagents.items())):
            frames += subagent.events.close_step()
            asked = [id for id, (at, _) in self._requests.items() if at[: len(path)] == path]
            outcome = {"type": "suspended", "interruptIds": asked}
            frames.append(fr.SubagentFinished(outcome=outcome, subagent_run_id=subagent.run_id))
        waiting = [self._requests[id] for id in event.waiting if id in self._requests]
        outcome = self._describe_waiting(waiting)
        return [*frames, *self._agent.close_step(), self._run_finished(outcome)]

    def _describe_waiting(self, waiting: list[tuple[CallPath, ev.InputRequested]]) -> JSONObject:
        """Return the outcome of a run that waits. Calls that the client answers with the result
        are not interrupts."""
        interrupts = [
            self._to_interrupt(path, event) for path, event in waiting if event.kind != "result"
        ]
        if interrupts:
            return {"type": "interrupt", "interrupts": interrupts}
        calls = [self._ids.find(path, event.call_id) for path, event in waiting]
        return {"type": "success", "pendingToolCallIds": [id for id in calls if id is not None]}

    def _to_interrupt(self, path: CallPath, event: ev.InputRequested) -> JSONObject:
        subagent = self._subagents.get(path)
        expires_ms = event.expires_at_ms
        fields: JSONObject = {
            "id": event.request_id,
            "reason": _REASONS[event.kind],
            "message": event.message or None,
            "toolCallId": self._ids.find(path, event.call_id),
            "responseSchema": _APPROVAL_SCHEMA if event.kind == "approval" else event.schema,
            "expiresAt": None if expires_ms is None else _to_iso(expires_ms),
            "subagentRunId": None if subagent is None else subagent.run_id,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _resume(self) -> list[AGUIFrame]:
        """Begin the next stream of a run that has waited for input."""
        if not self._is_waiting:
            return []
        self._is_waiting = False
        return [self._run_started(), *map(_announce, self._subagents.values())]

    # -- the end

    def _run_finished(self, outcome: JSONObject, **more: Any) -> AGUIFrame:
        return fr.RunFinished(
            thread_id=self._thread_id,
            run_id=self._run_id,
            outcome=outcome,
            usage=self._describe_usage(),
            **more,
        )

    def _describe_usage(self) -> tuple[JSONObject, ...]:
        counts = {name: getattr(self._usage, ours) for name, ours in _COUNTS.items()}
        known = {name: count for name, count in counts.items() if count is not None}
        return ({**self._model, **known},) if known else ()

    def _end(self, closed: ev.RunClosed | None) -> list[AGUIFrame]:
        self._is_over = True
        assert self._agent is not None
        frames: list[AGUIFrame] = [self._run_started()] if self._is_waiting else []
        for path in reversed(list(self._subagents)):
            frames += self._end_subagent(path, None) if not self._is_waiting else []
        frames += self._agent.close()
        end = ending(self._terminal, closed, "run" if self._is_run else "turn")
        if end.kind == "failed":
            usage = self._describe_usage()
            return [*frames, fr.RunError(message=end.message, code=end.category, usage=usage)]
        if end.kind == "cancelled":
            return [*frames, self._run_finished({"type": "cancelled"})]
        assert isinstance(self._terminal, ev.TurnFinished | ev.RunFinished)
        metadata = {"finishReason": str(self._terminal.reason)}
        outcome = {"type": "success"}
        return [*frames, self._run_finished(outcome, result=self._result, metadata=metadata)]


def _announce(subagent: _Subagent) -> AGUIFrame:
    return fr.SubagentStarted(
        subagent_run_id=subagent.run_id,
        name=subagent.name,
        parent_tool_call_id=subagent.parent_call_id,
        parent_subagent_run_id=subagent.parent_run_id,
    )


def _to_iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat().replace("+00:00", "Z")


def create_projection(
    event_id: str | None = None,
    message: Callable[[], Message] | None = None,
    *,
    thread_id: str | None = None,
    run_id: str | None = None,
) -> AGUIProjection:
    """Create the projection of one run; see `headrace.projections.registry`."""
    return AGUIProjection(event_id, thread_id=thread_id, run_id=run_id)
