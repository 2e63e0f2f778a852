"""Reads the requests of AG-UI clients: `RunAgentInput`.

The server's conversation counts, not the client's copy of it: of the messages only those after the
last answer are read, and the id of that answer. The shared `state` of AG-UI is ignored.
"""

from __future__ import annotations

from typing import Any, cast, get_args

import msgspec

from headrace.content import PromptContent, TextContent
from headrace.encoders import Effort, Options, Request, ToolSpec
from headrace.events import JSONObject
from headrace.messages import Message
from headrace.readers.client_answer import ClientAnswer
from headrace.readers.field_reader import read_objects, read_optional_text, read_text
from headrace.readers.incoming import IncomingRequest, InvalidRequest
from headrace.readers.media_url import create_media, read_media
from headrace.wire.json.value import as_object

_KNOWN = frozenset(
    {
        "threadId",
        "runId",
        "parentRunId",
        "protocolVersion",
        "state",
        "messages",
        "tools",
        "context",
        "forwardedProps",
        "resume",
    }
)
_MEDIA = ("image", "audio", "video", "document")


class AGUIRequest(IncomingRequest, frozen=True, kw_only=True):
    """The request of an AG-UI client: a new message, or answers to what the run waits for.

    `request` has the new message, the client's tools, and its context as instructions.
    """

    thread_id: str
    """The client's id of the conversation."""
    run_id: str
    """The client's id of the run, or of the continuation of one that has waited."""
    answer_id: str | None = None
    """The client's id of the last message of the model before the new message."""
    answers: tuple[ClientAnswer, ...] = ()
    """Answers to interrupts, and results of calls that the client has run."""


def read_request(body: JSONObject) -> AGUIRequest:
    """Read the body of a request. Raises `InvalidRequest`.

    Of `forwardedProps`, `model` and `effort` are read.
    """
    messages = read_objects(body, "messages")
    number = max((n for n, entry in enumerate(messages) if _is_answer(entry)), default=-1)
    newer = list(enumerate(messages))[number + 1 :]
    answers = _read_resume(body)
    question: Message | None = None
    for index, message in newer:
        place = f"messages[{index}]."
        match message.get("role"):
            case "tool":
                answers.append(_read_result(message, place))
                # A message before a result is older than the call.
                question = None
            case "user":
                question = Message(role="user", content=_read_content(message, place))
            case _:
                # Instructions are the agent's; activities and reasoning are for the display.
                pass
    if question is None and not answers:
        raise InvalidRequest("there is no new message, result or resume entry", "messages")
    forwarded = as_object(body.get("forwardedProps"))
    return AGUIRequest(
        request=Request(
            model=read_optional_text(forwarded, "model", "forwardedProps.") or "",
            messages=() if question is None else (question,),
            instructions=_read_context(body),
            tools=_read_tools(body),
            options=Options(effort=_read_effort(forwarded)),
        ),
        is_stream=True,
        thread_id=read_text(body, "threadId"),
        run_id=read_text(body, "runId"),
        answer_id=str(messages[number].get("id", "")) if number >= 0 else None,
        answers=tuple(answers),
        unknown={name: value for name, value in body.items() if name not in _KNOWN},
    )


def _is_answer(message: JSONObject) -> bool:
    """Return whether a message is one of the agent itself."""
    return message.get("role") == "assistant" and not message.get("subagentRunId")


def _read_effort(forwarded: JSONObject) -> Effort | None:
    effort = forwarded.get("effort")
    if effort is not None and effort not in get_args(Effort):
        text = f"effort must be one of {', '.join(get_args(Effort))}"
        raise InvalidRequest(text, "forwardedProps.effort")
    return cast("Effort | None", effort)


def _read_resume(body: JSONObject) -> list[ClientAnswer]:
    answers: list[ClientAnswer] = []
    for number, entry in enumerate(read_objects(body, "resume")):
        place = f"resume[{number}]."
        status = read_text(entry, "status", place)
        if status not in ("resolved", "cancelled"):
            raise InvalidRequest(f"{place}status must be resolved or cancelled", f"{place}status")
        answers.append(
            ClientAnswer(
                request_id=read_text(entry, "interruptId", place),
                value=entry.get("payload"),
                error="cancelled" if status == "cancelled" else None,
            )
        )
    return answers


def _read_result(message: JSONObject, place: str) -> ClientAnswer:
    content, error = message.get("content"), message.get("error")
    return ClientAnswer(
        call_id=read_text(message, "toolCallId", place),
        value=_parse_result(content) if isinstance(content, str) else content,
        error=None if error is None else str(error),
    )


def _parse_result(text: str) -> Any:
    """Return the JSON object or list that a result is, or else its text."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _read_content(message: JSONObject, place: str) -> tuple[PromptContent, ...]:
    content = message.get("content")
    if isinstance(content, str):
        found: list[PromptContent] = [TextContent(content)]
    else:
        parts = enumerate(read_objects(message, "content", place))
        found = [_read_part(part, f"{place}content[{number}].") for number, part in parts]
    if not any(not isinstance(entry, TextContent) or entry.text.strip() for entry in found):
        raise InvalidRequest("the last message is empty", f"{place}content")
    return tuple(found)


def _read_part(part: JSONObject, where: str) -> PromptContent:
    kind = part.get("type")
    if kind == "text":
        return TextContent(str(part.get("text", "")))
    if kind not in _MEDIA:
        raise InvalidRequest(f"{where}type must be text, {', '.join(_MEDIA)}", f"{where}type")
    source = as_object(part.get("source"))
    value = read_text(source, "value", f"{where}source.")
    media_type = read_optional_text(source, "mimeType", f"{where}source.")
    match source.get("type"):
        case "data":
            return create_media(media_type or f"{kind}/*", data=value)
        case "url":
            default = None if kind == "document" else f"{kind}/*"
            return read_media(value, media_type or default, None, f"{where}source.value")
        case _:
            text = "files that were uploaded to a provider cannot be sent"
            raise InvalidRequest(text, f"{where}source.type")


def _read_tools(body: JSONObject) -> tuple[ToolSpec, ...]:
    tools = enumerate(read_objects(body, "tools"))
    return tuple(_read_tool(tool, f"tools[{number}].") for number, tool in tools)


def _read_tool(tool: JSONObject, where: str) -> ToolSpec:
    parameters = as_object(tool.get("parameters"))
    return ToolSpec(
        name=read_text(tool, "name", where),
        description=str(tool.get("description") or ""),
        parameters=parameters or {"type": "object", "properties": {}},
    )


def _read_context(body: JSONObject) -> str | None:
    """Return what the application tells the agent about its state."""
    lines = [
        f"{entry.get('description', '')}:\n{entry.get('value', '')}"
        for entry in read_objects(body, "context")
    ]
    return "\n\n".join(["Context of the application:", *lines]) if lines else None
