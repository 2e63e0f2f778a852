"""The input of a response: what a request adds to the conversation before it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headrace.content import Content, TextContent
from headrace.encoders import Request
from headrace.encoders.responses.request import encode_responses
from headrace.encoders.text_content import to_text
from headrace.events import JSONObject
from headrace.messages import CallPart, CallResult, Message, Turn
from headrace.projections.openai_responses import CLIENT_RESULT
from headrace.readers.openai_responses import ResponsesRequest
from headrace.server.http_error import DoorError
from headrace.wire.json.value import as_object


def join_input(history: Sequence[Message], asked: ResponsesRequest) -> list[Message]:
    """Return the messages that a request adds to a history. Results of calls become a message of
    their own. Raises an `HTTPError` of 400 if a result is missing, or belongs to no call."""
    pending = find_pending_calls(history[-1]) if history else {}
    given = {result.call_id: result for result in asked.results}
    for call_id in given:
        if call_id not in pending:
            text = f"No tool call found for function call output with call_id {call_id[:100]}."
            raise DoorError(400, "invalid_request", text, param="input")
    for call_id in pending:
        if call_id not in given:
            text = f"No tool output found for function call {call_id}."
            raise DoorError(400, "invalid_request", text, param="input")
    messages = list(asked.request.messages)
    if given:
        messages.insert(0, _to_results_message(asked.results, pending))
    if not messages:
        raise DoorError(400, "invalid_request", "the input is empty", param="input")
    return messages


def find_pending_calls(message: Message) -> dict[str, str]:
    """Return the ids of calls that the client has not answered, with the names of their tools."""
    if not message.turns:
        return {}
    last = message.turns[-1]
    open_ids = {result.call_id for result in last.results if result.kind == CLIENT_RESULT}
    return {call.call_id: call.name for call in last.calls if call.call_id in open_ids}


def _to_results_message(results: Sequence[CallResult], names: dict[str, str]) -> Message:
    """Return the message that keeps results of the client. Its content is for people."""
    content: list[Content] = [
        TextContent(f"{names[result.call_id]}: {to_text(result.content)}") for result in results
    ]
    turn = Turn(results=tuple(results))
    return Message(role="user", content=tuple(content), turns=(turn,))


def encode_items(message: Message) -> list[JSONObject]:
    """Return a message as items of a request."""
    begin = 0
    if message.role != "assistant" and message.turns:
        # Results are written after the calls that they belong to.
        results = message.turns[-1].results
        calls = [_stand_for_call(result, number) for number, result in enumerate(results)]
        turn = Turn(parts=tuple(calls), results=results)
        message = Message(role="assistant", turns=(turn,))
        begin = len(calls)
    body = encode_responses(Request(model="any", messages=(message,)))
    items = [as_object(msgspec.json.decode(msgspec.json.encode(item))) for item in body["input"]]
    return items[begin:]


def _stand_for_call(result: CallResult, number: int) -> CallPart:
    place: JSONObject = {
        "part": number,
        "output": 0,
        "item": number,
        "started_ms": 0,
        "ended_ms": 0,
    }
    return CallPart(call_id=result.call_id, name="any", raw="{}", args={}, **place)
