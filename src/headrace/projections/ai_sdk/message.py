"""Turns a stored message into a `UIMessage`, as a client of the AI SDK has it after the stream."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from headrace import messages as msg
from headrace.content import FileContent, ImageContent, TextContent, data_url
from headrace.events import JSONObject
from headrace.messages import CallPart, CallResult, Message, Turn
from headrace.projections.ai_sdk.ending import usage_fields
from headrace.projections.ai_sdk.provider_metadata import to_metadata
from headrace.projections.ai_sdk.sources import Sources
from headrace.projections.input_frame import prompt_text
from headrace.projections.tool_value import ToolValue, tool_value
from headrace.status.answer_text import remove_markers


def to_ui_message(message: Message, message_id: str) -> JSONObject:
    """Return a message with its parts. Of several candidates only the first is shown."""
    if message.role != "assistant" or message.content:
        parts = [_to_prompt_part(entry) for entry in message.content]
        known = [part for part in parts if part is not None]
        return {"id": message_id, "role": message.role, "parts": known}
    sources = Sources()
    found = [part for turn in message.turns for part in _turn_parts(turn, message_id, sources)]
    if message.output is not msgspec.UNSET:
        found.append({"type": "data-output", "data": message.output})
    return {
        "id": message_id,
        "role": "assistant",
        "metadata": _to_metadata(message),
        "parts": found,
    }


def _to_metadata(message: Message) -> JSONObject:
    usage = usage_fields(message.usage)
    finish = None if message.finish is None else str(message.finish)
    fields: JSONObject = {
        "runId": message.run_id,
        "effort": message.effort,
        "usage": usage or None,
        "finishReason": finish,
        "warning": message.warning,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _to_prompt_part(entry: object) -> JSONObject | None:
    match entry:
        case TextContent():
            return {"type": "text", "text": entry.text}
        case ImageContent() | FileContent():
            file: JSONObject = {
                "type": "file",
                "mediaType": entry.media_type,
                "url": data_url(entry),
            }
            name = entry.name if isinstance(entry, FileContent) else None
            return file if name is None else {**file, "filename": name}
        case _:
            return None


def _turn_parts(turn: Turn, message_id: str, sources: Sources) -> Iterator[JSONObject]:
    yield {"type": "step-start"}
    shown = turn.outputs[0].output if turn.outputs else 0
    # Several outputs are candidates if all of them have ended by themselves.
    is_successive = len(turn.outputs) > 1 and any(end.finish is None for end in turn.outputs[:-1])
    outputs = {part.call_id: part for part in turn.parts if isinstance(part, msg.OutputPart)}
    for part in turn.parts:
        if part.output == shown or is_successive:
            yield from _to_parts(part, turn, message_id, outputs)
            yield from _to_sources(getattr(part, "citations", ()), sources)
    yield from _to_sources(turn.citations, sources)
    for number, added in enumerate(turn.added):
        text = prompt_text(added.content)
        id = f"{message_id}-user-{turn.step}-{number}"
        yield {"type": "data-user-message", "id": id, "data": {"text": text}}


def _to_parts(
    part: msg.Part, turn: Turn, message_id: str, outputs: dict[str, msg.OutputPart]
) -> Iterator[JSONObject]:
    metadata = to_metadata(
        turn.dialect or "", {seal.kind: seal.value for seal in part.seals}, part.item_id
    )
    sealed: JSONObject = {} if metadata is None else {"providerMetadata": metadata}
    id = f"p{part.part}"
    match part:
        case msg.TextPart():
            yield {"type": "text", "text": remove_markers(part.text), "state": "done", **sealed}
        case msg.ReasoningPart():
            text = remove_markers(part.text)
            yield {"type": "reasoning", "id": id, "text": text, "state": "done", **sealed}
        case msg.RedactedPart():
            metadata = to_metadata(turn.dialect or "", {"encrypted": part.data}, part.item_id)
            fields = {"type": "reasoning", "id": id, "text": "", "state": "done"}
            yield {**fields, "providerMetadata": metadata}
        case msg.CallPart():
            yield _to_tool_part(part, turn, message_id, outputs.get(part.call_id))
        case msg.MediaPart():
            yield {"type": "file", "mediaType": part.media_type, "url": data_url(part)}
        case msg.OpaquePart():
            yield {"type": "custom", "kind": f"{turn.dialect or 'provider'}.{part.kind}"}
        case msg.OutputPart():
            pass


def _to_tool_part(
    call: CallPart, turn: Turn, message_id: str, output: msg.OutputPart | None
) -> JSONObject:
    result = next((one for one in turn.results if one.call_id == call.call_id), None)
    edited = None if result is None else result.edited_args
    part: JSONObject = {
        "type": f"tool-{call.name}",
        "toolCallId": f"{message_id}.{call.part}",
        "input": call.args if edited is None else edited,
    }
    if call.executor == "provider":
        part["providerExecuted"] = True
    approvals = [
        one for one in turn.requests if one.kind == "approval" and one.call_id == call.call_id
    ]
    if approvals:
        part["approval"] = _to_approval(approvals[-1])
    is_denied = bool(approvals) and approvals[-1].decision in ("denied", "expired")
    if call.asks_approval:
        return {**part, "state": _to_approval_state(approvals)}
    return {**part, **_to_state(call, output or result, is_denied=is_denied)}


def _to_approval_state(approvals: list[msg.InputRequest]) -> str:
    """Return the state of a call that the provider runs if it may."""
    match approvals[-1].decision if approvals else None:
        case None:
            return "input-available"
        case "accepted":
            return "approval-responded"
        case _:
            return "output-denied"


def _to_approval(request: msg.InputRequest) -> JSONObject:
    fields: JSONObject = {"id": request.request_id, "requestReason": request.message or None}
    if request.decision is not None:
        fields["approved"] = request.decision == "accepted"
        fields["reason"] = request.reason
    return {name: value for name, value in fields.items() if value is not None}


def _to_state(
    call: CallPart, result: CallResult | msg.OutputPart | None, *, is_denied: bool
) -> JSONObject:
    if result is None and call.error is None:
        return {"state": "input-available"}
    value = ToolValue(error=call.error)
    if result is not None:
        value = tool_value(result.content, is_error=result.is_error)
    if value.error is None:
        return {"state": "output-available", "output": value.result}
    return {"state": "output-denied"} if is_denied else _to_error(value.error)


def _to_error(text: str) -> JSONObject:
    return {"state": "output-error", "errorText": text}


def _to_sources(citations: tuple[msg.Citation, ...], sources: Sources) -> Iterator[JSONObject]:
    for citation in citations:
        for frame in sources.add(citation):
            yield msgspec.to_builtins(frame)
