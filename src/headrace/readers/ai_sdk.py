"""Reads the requests of the AI SDK's chat transport: UI messages and what is to be done with them.

The server's conversation counts, not the client's copy of it: of the messages only the last one is
read, and the id of the answer before it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast, get_args

from headrace.content import PromptContent, TextContent
from headrace.encoders import Effort, Options, Request
from headrace.events import JSONObject
from headrace.messages import Message
from headrace.readers.client_answer import ClientAnswer
from headrace.readers.field_reader import read_objects, read_optional_text, read_text
from headrace.readers.incoming import IncomingRequest, InvalidRequest
from headrace.readers.media_url import read_media

Trigger: TypeAlias = Literal["submit-message", "regenerate-message"]
_KNOWN = frozenset({"id", "messages", "trigger", "messageId", "model", "effort"})


class AISDKRequest(IncomingRequest, frozen=True, kw_only=True):
    """The request of a chat: a new message, a message to answer again, or answers to what the run
    waits for. `request` has the new message, if there is one."""

    chat_id: str
    """The client's id of the chat."""
    trigger: Trigger
    message_id: str | None = None
    """The answer that is to be replaced, or the message that was edited."""
    question_id: str | None = None
    """The client's id of the last message, if that is the user's."""
    answer_id: str | None = None
    """Id of the answer that the last message follows, or that it is."""
    answers: tuple[ClientAnswer, ...] = ()
    """What the client answers, if the last message is an answer of the model."""


def read_request(body: JSONObject) -> AISDKRequest:
    """Read the body of a request. Raises `InvalidRequest`.

    Beside the fields of the transport, `model` and `effort` are read.
    """
    messages = read_objects(body, "messages")
    if not messages:
        raise InvalidRequest("there are no messages", "messages")
    trigger = body.get("trigger", "submit-message")
    if trigger not in get_args(Trigger):
        raise InvalidRequest(f"trigger must be one of {', '.join(get_args(Trigger))}", "trigger")
    place = f"messages[{len(messages) - 1}]."
    last = messages[-1]
    role = read_text(last, "role", place)
    if role not in ("user", "assistant"):
        text = "the last message must be of the user or the assistant"
        raise InvalidRequest(text, f"{place}role")
    is_question = role == "user"
    question = _read_question(last, place) if is_question else None
    earlier = messages[:-1] if is_question else messages
    return AISDKRequest(
        request=Request(
            model=read_optional_text(body, "model") or "",
            messages=() if question is None else (question,),
            options=Options(effort=_read_effort(body)),
        ),
        is_stream=True,
        chat_id=read_text(body, "id"),
        trigger=cast("Trigger", trigger),
        message_id=read_optional_text(body, "messageId"),
        question_id=read_optional_text(last, "id", place) if is_question else None,
        answer_id=_find_answer(earlier),
        answers=() if is_question else _read_answers(last, place),
        unknown={name: value for name, value in body.items() if name not in _KNOWN},
    )


def _read_effort(body: JSONObject) -> Effort | None:
    effort = body.get("effort")
    if effort is not None and effort not in get_args(Effort):
        raise InvalidRequest(f"effort must be one of {', '.join(get_args(Effort))}", "effort")
    return cast("Effort | None", effort)


def _find_answer(messages: list[JSONObject]) -> str | None:
    """Return the id of the last answer of the model."""
    answers = [entry for entry in messages if entry.get("role") == "assistant"]
    return read_optional_text(answers[-1], "id", "messages[].") if answers else None


def _read_question(message: JSONObject, place: str) -> Message:
    content: list[PromptContent] = []
    for number, part in enumerate(read_objects(message, "parts", place)):
        where = f"{place}parts[{number}]."
        match part.get("type"):
            case "text":
                content.append(TextContent(str(part.get("text", ""))))
            case "file":
                if "providerReference" in part:
                    text = "files that were uploaded to a provider cannot be sent"
                    raise InvalidRequest(text, f"{where}providerReference")
                url, kind = read_text(part, "url", where), read_text(part, "mediaType", where)
                name = read_optional_text(part, "filename", where)
                content.append(read_media(url, kind, name, f"{where}url"))
            case _:
                # Parts for the display, such as `data-…`.
                pass
    if not any(not isinstance(entry, TextContent) or entry.text.strip() for entry in content):
        raise InvalidRequest("the last message is empty", f"{place}parts")
    return Message(role="user", content=tuple(content))


def _read_answers(message: JSONObject, place: str) -> tuple[ClientAnswer, ...]:
    """Return what the tool parts of an answer say about approvals and results."""
    found: list[ClientAnswer] = []
    for number, part in enumerate(read_objects(message, "parts", place)):
        kind = str(part.get("type", ""))
        if kind.startswith("tool-") or kind == "dynamic-tool":
            answer = _read_answer(part, f"{place}parts[{number}].")
            found += [] if answer is None else [answer]
    return tuple(found)


def _read_answer(part: JSONObject, where: str) -> ClientAnswer | None:
    call_id = read_text(part, "toolCallId", where)
    match part.get("state"):
        case "approval-responded":
            approval: Any = part.get("approval")
            if not isinstance(approval, dict):
                raise InvalidRequest(f"{where}approval is missing", f"{where}approval")
            fields = cast("JSONObject", approval)
            return ClientAnswer(
                request_id=read_text(fields, "id", f"{where}approval."), value=fields
            )
        case "output-available" if not part.get("preliminary"):
            return ClientAnswer(call_id=call_id, value=part.get("output"))
        case "output-error":
            return ClientAnswer(call_id=call_id, error=str(part.get("errorText") or "failed"))
        case _:
            return None
