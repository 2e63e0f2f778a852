"""Selects the parts of a conversation that are sent to a provider again.

`history` splits messages into prompts, replies and results that any provider accepts: every client
call has a result and every request for approval an answer, in order, and nothing partial is sent.
What one dialect, provider or model needs beyond that is up to its request encoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from headrace.content import CacheBreak, Content, JSONContent, PromptContent, TextContent
from headrace.messages import message as msg
from headrace.messages.message import Part

NOT_RUN = "The call was not run: the run ended before it."
"""The answer to a call that nobody has answered."""
_EDITED = "The user changed the arguments of this call before it ran, to:"


class PromptEntry(msgspec.Struct, frozen=True):
    """A message that is not from the model."""

    role: str
    content: tuple[PromptContent, ...]


class AssistantEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one turn of the model, and the model that produced them. Its seals are valid
    for that model only."""

    parts: tuple[Part, ...]
    provider: str | None = None
    dialect: str | None = None
    model: str | None = None
    response_id: str | None = None


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a provider that asked whether it may run a call."""

    item_id: str
    """The provider's id of the item that asked."""
    is_approved: bool
    reason: str | None = None
    """Why it may not."""


class ToolResultsEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """The results of all client calls of the entry before, in the order of the calls, and the
    answers to all calls for which the provider asked."""

    results: tuple[msg.CallResult, ...]
    approvals: tuple[ApprovalAnswer, ...] = ()


HistoryEntry: TypeAlias = PromptEntry | AssistantEntry | ToolResultsEntry


def history(messages: Iterable[msg.Message]) -> list[HistoryEntry]:
    """Return the conversation as alternating prompts, replies and results."""
    return [entry for message in _join_results(messages) for entry in _split_message(message)]


def _join_results(messages: Iterable[msg.Message]) -> list[msg.Message]:
    """Return the messages with results that were sent later in the turns of their calls.

    Clients that run tools send the results with their next message, where they are kept.
    """
    joined: list[msg.Message] = []
    for message in messages:
        if message.role == "assistant" or not message.turns:
            joined.append(message)
            continue
        results = [result for turn in message.turns for result in turn.results]
        if joined and results:
            joined[-1] = replace_results(joined[-1], results)
    return joined


def replace_results(message: msg.Message, results: Iterable[msg.CallResult]) -> msg.Message:
    """Return the message with other results of its last turn, by the ids of the calls."""
    if not message.turns:
        return message
    *earlier, last = message.turns
    known = {result.call_id: result for result in (*last.results, *results)}
    last = msgspec.structs.replace(last, results=tuple(known.values()))
    return msgspec.structs.replace(message, turns=(*earlier, last))


def _split_message(message: msg.Message) -> Iterator[HistoryEntry]:
    if message.role != "assistant":
        yield PromptEntry(message.role, message.content)
        return
    if message.content:
        said = [entry for entry in message.content if not isinstance(entry, CacheBreak)]
        parts = [_to_part(number, entry) for number, entry in enumerate(said)]
        yield AssistantEntry(parts=tuple(parts))
    for turn in message.turns:
        yield from _split_turn(turn)


def _to_part(number: int, entry: Content) -> Part:
    """Convert the content of an assistant message that no model has produced."""
    place: dict[str, Any] = {
        "part": number,
        "output": 0,
        "item": number,
        "started_ms": 0,
        "ended_ms": 0,
    }
    match entry:
        case TextContent():
            return msg.TextPart(text=entry.text, **place)
        case JSONContent():
            return msg.TextPart(text=msgspec.json.encode(entry.value).decode(), **place)
        case _:
            return msg.MediaPart(
                media_type=entry.media_type, data=entry.data, url=entry.url, **place
            )


def _split_turn(turn: msg.Turn) -> Iterator[HistoryEntry]:
    parts = _select_parts(turn)
    if parts:
        yield AssistantEntry(
            parts=parts,
            provider=turn.provider,
            dialect=turn.dialect,
            model=turn.model,
            response_id=turn.response_id,
        )
        results = tuple(_select_results(parts, turn.results))
        approvals = tuple(_select_approvals(parts, turn.requests))
        if results or approvals:
            yield ToolResultsEntry(results, approvals)
    if turn.nudge:
        yield PromptEntry("user", (TextContent(turn.nudge),))
    for message in turn.added:
        yield PromptEntry("user", message.content)


def _select_parts(turn: msg.Turn) -> tuple[Part, ...]:
    if turn.finish is not None and turn.finish.word not in _CUT_SHORT:
        return tuple(part for part in turn.parts if part.ended_ms is not None)
    answered = {part.call_id for part in turn.parts if isinstance(part, msg.OutputPart)}
    parts = [part for part in turn.parts if _survives_cut(part, answered)]
    # A provider refuses reasoning that no item follows.
    while parts and isinstance(parts[-1], msg.ReasoningPart | msg.RedactedPart):
        parts.pop()
    return tuple(parts)


_CUT_SHORT = frozenset({"aborted", "max_tokens", "context_full", "content_filter", "time_limit"})


def _survives_cut(part: Part, answered: set[str]) -> bool:
    match part:
        case msg.TextPart():
            return bool(part.text)
        case msg.ReasoningPart():
            return bool(part.seals)
        case msg.CallPart(executor="provider"):
            return part.error is None and part.call_id in answered
        case msg.CallPart():
            return part.error is None and part.ended_ms is not None
        case _:
            return True


def _select_results(
    parts: tuple[Part, ...], results: tuple[msg.CallResult, ...]
) -> Iterator[msg.CallResult]:
    known = {result.call_id: result for result in results}
    for part in parts:
        if isinstance(part, msg.CallPart) and part.executor == "client":
            result = known.get(part.call_id)
            yield _create_missing_result(part) if result is None else _select_result(result)


def _select_approvals(
    parts: tuple[Part, ...], requests: tuple[msg.InputRequest, ...]
) -> Iterator[ApprovalAnswer]:
    """Iterate over the answers to what the provider asked. What nobody has approved is denied."""
    known = {request.call_id: request for request in requests if request.server is not None}
    for part in parts:
        if isinstance(part, msg.CallPart) and part.asks_approval:
            request = known.get(part.call_id)
            decision = None if request is None else request.decision
            reason = None if request is None else request.reason
            yield ApprovalAnswer(
                item_id=part.item_id or part.call_id,
                is_approved=decision == "accepted",
                reason=explain_not_run(part) if decision is None else reason,
            )


def _select_result(result: msg.CallResult) -> msg.CallResult:
    """Return the result without the message of a sub-agent, and with a note about arguments that a
    person has changed."""
    if result.message is None and result.edited_args is None:
        return result
    content = result.content
    if result.edited_args is not None:
        arguments = msgspec.json.encode(result.edited_args).decode()
        content = (TextContent(f"{_EDITED} {arguments}"), *content)
    return msgspec.structs.replace(result, content=content, message=None, edited_args=None)


def _create_missing_result(call: msg.CallPart) -> msg.CallResult:
    content = (TextContent(explain_not_run(call)),)
    return msg.CallResult(call_id=call.call_id, content=content, is_error=True)


def explain_not_run(call: msg.CallPart) -> str:
    """Return what the model is told about a call that was not run."""
    return NOT_RUN if call.error is None else f"The arguments are malformed: {call.error}"
