"""Typed answers outside a run: reads the answer of one turn, and asks again for a better one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from headrace.content import TextContent
from headrace.messages import CallResult, Message, Turn
from headrace.outcome import ErrorInfo
from headrace.typed.output_type import Mismatch
from headrace.typed.plan import OutputPlan
from headrace.usage import Usage

_CUT_SHORT = frozenset({"max_tokens", "context_full", "content_filter", "time_limit"})


def is_cut_short(turn: Turn) -> bool:
    """Return whether the turn ended before the model was done, so that a second try would end in
    the same way."""
    return turn.finish is not None and turn.finish.word in _CUT_SHORT


def read_answer(message: Message, plan: OutputPlan, tools: Collection[str] = ()) -> Message:
    """Return the message of a turn with its typed answer as `output`, or with an error that says
    what is wrong. A turn that failed stays as it is, and so does one that calls one of the `tools`:
    the model will answer after their results."""
    if message.finish is None or not message.turns:
        return message
    turn = message.turns[-1]
    if plan.find_call(turn) is None and any(call.name in tools for call in turn.calls):
        return message
    try:
        return msgspec.structs.replace(message, output=plan.read(turn))
    except Mismatch as mismatch:
        problem = describe_mismatch(turn, str(mismatch))
        error = ErrorInfo("invalid_output", problem)
        return msgspec.structs.replace(message, finish=None, error=error)


def describe_mismatch(turn: Turn, problem: str) -> str:
    """Return what is wrong with an answer, with the reason if the model could not finish it."""
    return f"{problem} (the answer ended with {turn.finish})" if is_cut_short(turn) else problem


def can_correct(message: Message) -> bool:
    """Return whether the model may be asked again for this answer."""
    error = message.error
    is_wrong = error is not None and error.category == "invalid_output"
    return is_wrong and not is_cut_short(message.turns[-1])


def add_correction(message: Message, plan: OutputPlan) -> Message:
    """Return the message with what the model is told about its wrong answer."""
    assert message.error is not None
    *earlier, turn = message.turns
    text = plan.correct(message.error.message)
    calls = [call for call in turn.calls if call.executor == "client"]
    if calls:
        results = tuple(
            CallResult(call_id=call.call_id, content=(TextContent(text),), is_error=True)
            for call in calls
        )
        turn = msgspec.structs.replace(turn, results=results)
    else:
        turn = msgspec.structs.replace(turn, nudge=text)
    return msgspec.structs.replace(message, turns=(*earlier, turn))


def join_attempts(attempts: Sequence[Message]) -> Message:
    """Return all attempts as one message: every turn, the end of the last one, and the usage of
    all of them."""
    turns = [turn for message in attempts for turn in message.turns]
    return msgspec.structs.replace(
        attempts[-1],
        turns=tuple(
            msgspec.structs.replace(turn, step=number) for number, turn in enumerate(turns)
        ),
        usage=sum((message.usage for message in attempts), Usage()),
    )
