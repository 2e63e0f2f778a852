"""Reads a request body back into messages, tools and results, for the scripted model.

It accepts the bodies of `headrace.encoders` and of other clients of the dialect. Missing or invalid
fields are ignored.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.rehearsal.request_shape import convert_to_chat
from headrace.wire.json.value import as_list, as_object, as_objects, as_text

JSONObject: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

# Splitting a text of megabytes into words would hold up the event loop.
_MAX_COUNTED_CHARS = 100_000
_CHARS_PER_WORD = 5


class HeardTool(msgspec.Struct, frozen=True):
    """A tool that the request offers."""

    name: str
    """Name of the tool."""
    description: str = ""
    """The description for the model."""
    schema: JSONObject = {}
    """JSON schema of the arguments."""


class HeardResult(msgspec.Struct, frozen=True):
    """The result of a call."""

    call_id: str
    """Id of the call."""
    name: str
    """Name of the tool."""
    text: str
    """The result as text."""
    is_error: bool | None = None
    """Whether the call failed; None if the dialect does not say."""


class HeardMessage(msgspec.Struct, frozen=True):
    """One message. A tool's message has a result and no text."""

    role: Role
    """Who wrote it."""
    text: str = ""
    """Its text."""
    calls: tuple[str, ...] = ()
    """Names of the tools that an assistant message calls."""
    result: HeardResult | None = None
    """The result of a tool, if this is a tool message."""


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as the model receives it."""

    dialect: str = "chat"
    """Dialect of the request."""
    model: str = ""
    """Name of the requested model."""
    system: str = ""
    """The instructions."""
    messages: tuple[HeardMessage, ...] = ()
    """The conversation."""
    tools: tuple[HeardTool, ...] = ()
    """The tools that may be called."""
    effort: str | None = None
    """The requested effort in the dialect's own word, if there is one."""
    schema: JSONObject | None = None
    """The JSON schema that the answer must match, if there is one."""

    @property
    def user(self) -> str:
        """Text of the user's last message."""
        return next((m.text for m in reversed(self.messages) if m.role == "user" and m.text), "")

    @property
    def since_user(self) -> tuple[HeardMessage, ...]:
        """Messages after the user's last message."""
        for number in range(len(self.messages), 0, -1):
            if self.messages[number - 1].role == "user":
                return self.messages[number:]
        return self.messages

    @property
    def results(self) -> tuple[HeardResult, ...]:
        """Results of the last assistant message's calls; empty if something else followed."""
        found: list[HeardResult] = []
        for message in reversed(self.messages):
            if message.result is None:
                break
            found.append(message.result)
        return tuple(reversed(found))

    @property
    def replies(self) -> int:
        """Number of assistant messages in the conversation."""
        return sum(message.role == "assistant" for message in self.messages)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the offered tools."""
        return tuple(tool.name for tool in self.tools)

    @property
    def words(self) -> int:
        """Number of words in the request; that of long texts is estimated."""
        texts = [self.system, *(message.text for message in self.messages)]
        texts += [message.result.text for message in self.messages if message.result]
        return sum(map(_count_words, texts))


def _count_words(text: str) -> int:
    is_short = len(text) <= _MAX_COUNTED_CHARS
    return len(text.split()) if is_short else len(text) // _CHARS_PER_WORD


def heard_from(body: JSONObject, dialect: str = "chat") -> Heard:
    """Parse the body of a request."""
    body = convert_to_chat(body, dialect)
    match dialect:
        case "anthropic":
            system, messages = _text(body.get("system")), _anthropic(body)
        case "responses":
            system, messages = as_text(body.get("instructions")) or "", _responses(body)
        case _:
            system, messages = "", _chat(body)
    said = [message.text for message in messages if message.role == "system"]
    return Heard(
        dialect=dialect,
        model=as_text(body.get("model")) or "",
        system="\n\n".join(text for text in (system, *said) if text),
        messages=tuple(message for message in messages if message.role != "system"),
        tools=tuple(map(_tool, as_objects(body.get("tools")))),
        effort=_effort(body),
        schema=_schema(body),
    )


def _tool(tool: JSONObject) -> HeardTool:
    told = as_object(tool.get("function")) or tool
    schema = told.get("parameters") or told.get("input_schema")
    return HeardTool(
        as_text(told.get("name")) or "", as_text(told.get("description")) or "", as_object(schema)
    )


def _effort(body: JSONObject) -> str | None:
    """Find the effort, wherever the dialect puts it. A token budget does not count."""
    places = (body.get("reasoning"), body.get("output_config"))
    words = [as_text(as_object(place).get("effort")) for place in places]
    return next(filter(None, [as_text(body.get("reasoning_effort")), *words]), None)


def _schema(body: JSONObject) -> JSONObject | None:
    """Find the schema of the answer, wherever the dialect puts it."""
    places = (body.get("text"), body.get("output_config"))
    formats = [as_object(as_object(place).get("format")) for place in places]
    formats.append(as_object(as_object(body.get("response_format")).get("json_schema")))
    return next(filter(None, (as_object(found.get("schema")) for found in formats)), None)


def _text(content: object) -> str:
    """Return content as text: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    texts = (as_text(part) or as_text(as_object(part).get("text")) for part in as_list(content))
    return "\n".join(text for text in texts if text)


def _role(role: object) -> Role:
    if role == "assistant":
        return "assistant"
    return "system" if role in ("system", "developer") else "user"


# --- chat -------------------------------------------------------------------------


def _chat(body: JSONObject) -> list[HeardMessage]:
    names: dict[str, str] = {}
    return [_chat_message(message, names) for message in as_objects(body.get("messages"))]


def _chat_message(message: JSONObject, names: dict[str, str]) -> HeardMessage:
    text = _text(message.get("content"))
    if message.get("role") == "tool":
        id = as_text(message.get("tool_call_id")) or ""
        name = as_text(message.get("tool_name")) or names.get(id) or ""
        return HeardMessage("tool", result=HeardResult(id, name, text))
    called: list[str] = []
    for call in as_objects(message.get("tool_calls")):
        said = as_object(call.get("function")) or as_object(call.get("custom"))
        called.append(as_text(said.get("name")) or "")
        names[as_text(call.get("id")) or ""] = called[-1]
    return HeardMessage(_role(message.get("role")), text, tuple(called))


# --- anthropic --------------------------------------------------------------------


def _anthropic(body: JSONObject) -> list[HeardMessage]:
    names: dict[str, str] = {}
    messages: list[HeardMessage] = []
    for message in as_objects(body.get("messages")):
        blocks = as_objects(message.get("content"))
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        names |= {as_text(c.get("id")) or "": as_text(c.get("name")) or "" for c in calls}
        results = [_block_result(b, names) for b in blocks if b.get("type") == "tool_result"]
        messages += [HeardMessage("tool", result=result) for result in results]
        text = _text(message.get("content"))
        called = tuple(as_text(call.get("name")) or "" for call in calls)
        # A message that only holds results is not the user's.
        if text or called or not results:
            messages.append(HeardMessage(_role(message.get("role")), text, called))
    return messages


def _block_result(block: JSONObject, names: dict[str, str]) -> HeardResult:
    id = as_text(block.get("tool_use_id")) or ""
    text = _text(block.get("content"))
    return HeardResult(id, names.get(id, ""), text, block.get("is_error") is True)


# --- responses --------------------------------------------------------------------


def _responses(body: JSONObject) -> list[HeardMessage]:
    asked = body.get("input")
    if isinstance(asked, str):
        return [HeardMessage("user", asked)]
    names: dict[str, str] = {}
    messages: list[HeardMessage] = []
    for item in as_objects(asked):
        _hear_item(item, names, messages)
    return messages


def _hear_item(item: JSONObject, names: dict[str, str], messages: list[HeardMessage]) -> None:
    kind = as_text(item.get("type")) or "message"
    id = as_text(item.get("call_id")) or ""
    if kind.endswith("_call_output"):
        text = _text(item.get("output"))
        messages.append(HeardMessage("tool", result=HeardResult(id, names.get(id, ""), text)))
    elif kind == "mcp_approval_response":
        messages.append(HeardMessage("tool", result=_hear_approval(item, names)))
    elif kind == "mcp_approval_request":
        id = as_text(item.get("id")) or ""
        names[id] = as_text(item.get("name")) or ""
        _join(messages, "assistant", "", (names[id],))
    elif kind == "message":
        _join(messages, _role(item.get("role")), _text(item.get("content")))
    elif kind.endswith("_call"):
        names[id] = as_text(item.get("name")) or kind.removesuffix("_call")
        _join(messages, "assistant", "", (names[id],))


def _hear_approval(item: JSONObject, names: dict[str, str]) -> HeardResult:
    """Return the answer to a request for approval as the result of its call."""
    id = as_text(item.get("approval_request_id")) or ""
    is_approved = item.get("approve") is True
    text = as_text(item.get("reason")) or ("approved" if is_approved else "denied")
    return HeardResult(id, names.get(id, ""), text, is_error=not is_approved)


def _join(messages: list[HeardMessage], role: Role, text: str, calls: tuple[str, ...] = ()) -> None:
    """Merge the items of one reply into one message."""
    last = messages[-1] if messages else None
    if role == "assistant" and last is not None and last.role == role:
        messages[-1] = HeardMessage(role, last.text + text, last.calls + calls)
    else:
        messages.append(HeardMessage(role, text, calls))
