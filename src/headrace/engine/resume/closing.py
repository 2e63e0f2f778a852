"""Closes runs that were cut off: the events that a log lacks for a legal end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headrace import events as ev
from headrace.content import TextContent
from headrace.engine.resume.progress import RunProgress
from headrace.events import Event
from headrace.messages import CallPart, Turn
from headrace.messages.provider_history import explain_not_run
from headrace.outcome import abort_reason

STOPPED = "The call was stopped: the run ended before its result was known."
_STEP_STATES = frozenset({"asking", "turn", "calls", "failed"})


class NestedEvents(NamedTuple):
    """Events of a nested run, and where they belong."""

    events: list[Event]
    path: tuple[str, ...]
    step: int


def close_nested(progress: RunProgress, why: str) -> Iterator[NestedEvents]:
    """Iterate over the events that end a nested run and the runs in it, innermost first."""
    for child in progress.nested.running.values():
        yield from close_nested(child, why)
    if progress.state in ("before", "over"):
        return
    error = ev.TurnFailed(category="interrupted", message=why)
    events = progress.close_turn(error)
    if progress.state in _STEP_STATES:
        turn = progress.last_turn
        events += [
            skip_call(call, is_started=call.call_id in progress.started_calls)
            for call in unanswered_calls(turn)
        ]
        events += expire_requests(turn)
        events.append(ev.StepFinished(progress.step))
    usage = progress.assembler.usage + progress.nested.usage
    events.append(ev.RunFinished(abort_reason("cancelled", why), usage))
    yield NestedEvents(events, progress.path, progress.step)


def expire_requests(turn: Turn) -> list[Event]:
    """Return the answers that a turn lacks for what its provider asked. The requests of other calls
    are over with their results."""
    asked = {call.call_id for call in turn.calls if call.asks_approval}
    return [
        ev.InputAnswered(request_id=request.request_id, decision="expired", reason=STOPPED)
        for request in turn.requests
        if request.call_id in asked and request.decision is None
    ]


def needs_answers(turn: Turn) -> bool:
    """Return whether the model waits for results of calls, or the provider for approvals."""
    return any(call.executor == "client" or call.asks_approval for call in turn.calls)


def unanswered_calls(turn: Turn) -> list[CallPart]:
    """Return the calls of a turn that are ours and have no result."""
    answered = {result.call_id for result in turn.results}
    return [c for c in turn.calls if c.executor == "client" and c.call_id not in answered]


def skip_call(call: CallPart, *, is_started: bool = False) -> ev.ToolResult:
    """Return the result of a call that will not be run, or was stopped."""
    text = STOPPED if is_started else explain_not_run(call)
    return ev.ToolResult(call_id=call.call_id, content=(TextContent(text),), is_error=True)
