"""xAI's own requests: `GetCompletionsRequest`, in the JSON of its protocol buffers. They are
stateless: nothing is left with the provider, and reasoning goes back encrypted."""

from __future__ import annotations

from headrace.content import Content, FileContent, ImageContent, data_url
from headrace.encoders.request import Effort, Options, Request, ToolSpec
from headrace.encoders.resend_rules import CallIds, arguments_as_written, is_own, name_of
from headrace.encoders.text_content import encoded, file_text, images_in, spoken, text_of
from headrace.events import JSONObject
from headrace.messages import (
    AssistantEntry,
    CallPart,
    CallResult,
    OutputPart,
    Part,
    PromptEntry,
    ReasoningPart,
    RedactedPart,
    TextPart,
    ToolResultsEntry,
    history,
)

_CLIENT_SIDE = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"
# `minimal` and `max` are the next words that there are.
_EFFORTS: dict[Effort, str] = {
    "none": "EFFORT_NONE",
    "minimal": "EFFORT_LOW",
    "low": "EFFORT_LOW",
    "medium": "EFFORT_MEDIUM",
    "high": "EFFORT_HIGH",
    "xhigh": "EFFORT_XHIGH",
    "max": "EFFORT_XHIGH",
}
_MODES = {"auto": "TOOL_MODE_AUTO", "none": "TOOL_MODE_NONE", "required": "TOOL_MODE_REQUIRED"}
_STATUSES = {
    "completed": "TOOL_CALL_STATUS_COMPLETED",
    "incomplete": "TOOL_CALL_STATUS_INCOMPLETE",
    "failed": "TOOL_CALL_STATUS_FAILED",
}


def encode_xai(request: Request) -> JSONObject:
    """The message of `xai_api.Chat/GetCompletionChunk`. How many candidates there are is left
    to the provider: one."""
    body: JSONObject = {
        "model": request.model,
        "messages": _messages(request),
        "use_encrypted_content": True,
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice is not None:
        body["tool_choice"] = _tool_choice(request.tool_choice)
    if request.parallel_calls is not None:
        body["parallel_tool_calls"] = request.parallel_calls
    return body | _options(request.options)


# --- options ----------------------------------------------------------------------


def _options(options: Options) -> JSONObject:
    named = {
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "stop": list(options.stop) or None,
        "seed": options.seed,
    }
    body: JSONObject = {name: value for name, value in named.items() if value is not None}
    if options.effort is not None:
        body["reasoning_effort"] = _EFFORTS[options.effort]
    if options.output is not None:
        schema = encoded(options.output.schema)
        body["response_format"] = {"format_type": "FORMAT_TYPE_JSON_SCHEMA", "schema": schema}
    return body


def _tool_choice(choice: str) -> JSONObject:
    return {"mode": _MODES[choice]} if choice in _MODES else {"function_name": choice}


def _tool(tool: ToolSpec) -> JSONObject:
    function: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": encoded(tool.parameters),
    }
    return {"function": function | ({"strict": True} if tool.is_strict else {})}


# --- messages ---------------------------------------------------------------------


def _messages(request: Request) -> list[JSONObject]:
    messages: list[JSONObject] = []
    ids = CallIds()
    if request.instructions:
        messages.append({"role": "ROLE_SYSTEM", "content": [{"text": request.instructions}]})
    for entry in history(request.messages):
        match entry:
            case PromptEntry():
                messages += _prompt(entry)
            case AssistantEntry():
                is_ours = is_own(entry, request, "xai")
                ids.begin(entry, is_ours)
                messages += _Replay(entry, is_ours, ids).messages()
            case ToolResultsEntry():
                messages += [_result(result, ids) for result in entry.results]
                messages += _shown_images(entry.results)
    return messages


def _prompt(prompt: PromptEntry) -> list[JSONObject]:
    content = [_content(entry) for entry in spoken(prompt.content)]
    role = "ROLE_USER" if prompt.role == "user" else "ROLE_SYSTEM"
    return [{"role": role, "content": content}] if content else []


def _content(entry: Content) -> JSONObject:
    match entry:
        case ImageContent():
            return {"image_url": {"image_url": data_url(entry)}}
        case FileContent() if file_text(entry) is None:
            where = {"url": entry.url} if entry.url else {"data": entry.data or ""}
            named = {"filename": entry.name} if entry.name else {}
            return {"file": {**where, **named, "mime_type": entry.media_type}}
        case _:
            return {"text": text_of((entry,))}


def _result(result: CallResult, ids: CallIds) -> JSONObject:
    return _answer(ids[result.call_id], text_of(result.content) or "(no output)")


def _answer(call_id: str, text: str) -> JSONObject:
    return {"role": "ROLE_TOOL", "tool_call_id": call_id, "content": [{"text": text}]}


def _shown_images(results: tuple[CallResult, ...]) -> list[JSONObject]:
    """Images that tools made, as the user's: a tool's message takes only text."""
    images = [image for result in results for image in images_in(result.content)]
    content = [_content(image) for image in images]
    return [{"role": "ROLE_USER", "content": content}] if content else []


# --- what the model said ----------------------------------------------------------


class _Replay:
    """One reply as messages, one for each output that it had: a step of the model with its
    calls, and after it what the provider's own tools gave back. So does xAI's own client."""

    def __init__(self, reply: AssistantEntry, is_ours: bool, ids: CallIds) -> None:
        self._is_ours = is_ours
        self._ids = ids
        self._outputs: dict[int, list[Part]] = {}
        for part in reply.parts:
            self._outputs.setdefault(part.output, []).append(part)
        self._calls = {part.call_id: part for part in reply.parts if isinstance(part, CallPart)}

    def messages(self) -> list[JSONObject]:
        """Output by output."""
        messages: list[JSONObject] = []
        for parts in self._outputs.values():
            messages += self._said(parts)
            if self._is_ours:
                messages += self._given_back(parts)
        return messages

    def _said(self, parts: list[Part]) -> list[JSONObject]:
        text = "".join(part.text for part in parts if isinstance(part, TextPart))
        calls = [self._call(part) for part in parts if self._is_sent(part)]
        sealed = _encrypted(parts) if self._is_ours else None
        if not (text or calls or sealed):
            return []
        message: JSONObject = {"role": "ROLE_ASSISTANT", "content": [{"text": text}]}
        thoughts = [part.text for part in parts if isinstance(part, ReasoningPart)]
        if self._is_ours and any(thoughts):
            message["reasoning_content"] = "".join(thoughts)
        if calls:
            message["tool_calls"] = calls
        return [message | ({"encrypted_content": sealed} if sealed else {})]

    def _is_sent(self, part: Part) -> bool:
        return isinstance(part, CallPart) and (part.executor == "client" or self._is_ours)

    def _call(self, part: Part, status: str | None = None) -> JSONObject:
        assert isinstance(part, CallPart)
        function = {"name": name_of(part), "arguments": arguments_as_written(part)}
        call: JSONObject = {
            "id": self._ids[part.call_id],
            "type": _type(part),
            "function": function,
        }
        return call | ({"status": status} if status else {})

    def _given_back(self, parts: list[Part]) -> list[JSONObject]:
        """The results of the provider's tools: an item each, which may answer several calls.
        One whose call was cut off answers nothing."""
        items: dict[int, list[OutputPart]] = {}
        for part in parts:
            if isinstance(part, OutputPart) and part.call_id in self._calls:
                items.setdefault(part.item, []).append(part)
        return [self._answered(outputs) for outputs in items.values()]

    def _answered(self, outputs: list[OutputPart]) -> JSONObject:
        message = _answer(self._ids[outputs[0].call_id], text_of(outputs[0].content))
        calls = [self._calls[output.call_id] for output in outputs]
        message["tool_calls"] = [self._call(call, _status(call)) for call in calls]
        sealed = (outputs[0].provider_data or {}).get("encrypted_content")
        return message | ({"encrypted_content": sealed} if sealed else {})


def _type(call: CallPart) -> str | int:
    """The enum's word; a tool that our table does not know has only its number."""
    if call.executor == "client":
        return _CLIENT_SIDE
    told = str((call.provider_data or {}).get("type", ""))
    return int(told) if told.isdecimal() else f"TOOL_CALL_TYPE_{told.upper()}_TOOL"


def _status(call: CallPart) -> str | None:
    told = [_STATUSES[a.status] for a in call.activities if a.status in _STATUSES]
    return told[-1] if told else None


def _encrypted(parts: list[Part]) -> str | None:
    """What xAI sealed of an output. The rest of a seal may have come after its finish, and
    stands then on whichever part could take it."""
    found = [part.data for part in parts if isinstance(part, RedactedPart)]
    for part in parts:
        found += [seal.value for seal in part.seals if seal.kind == "encrypted"]
    return "".join(found) or None
