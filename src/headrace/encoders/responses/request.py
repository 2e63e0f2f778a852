"""Encodes OpenAI Responses requests.

Requests are stateless: nothing is stored at the provider, and reasoning is sent back encrypted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace import messages as msg
from headrace.content import Content, FileContent
from headrace.encoders.history_encoder import HistoryEncoder
from headrace.encoders.option_table import OptionTable
from headrace.encoders.request import (
    Options,
    Request,
    ToolSpec,
    encode_tool_fields,
)
from headrace.encoders.resend_rules import CallIds, group_by_item, to_raw_json
from headrace.encoders.responses.approvals import encode_approval, find_approval_requests
from headrace.encoders.responses.calls import ResultEncoder, encode_call, encode_content
from headrace.encoders.responses.provider_tool import encode_provider_tools
from headrace.encoders.text_content import drop_empty_texts
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.wire.json.value import as_object

_CALL_ID = r"[A-Za-z0-9_-]{1,64}"
_ANSWERED_BY = {"tool_search_call": "tool_search_output", "shell_call": "shell_call_output"}
_PHASES = ("commentary", "final_answer")
_OPTIONS = OptionTable(
    provider="Responses",
    fields={
        "max_tokens": "max_output_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
        "user": "safety_identifier",
        "service_tier": "service_tier",
        "prompt_cache_key": "prompt_cache_key",
    },
    encoded=("compact_at", "effort", "output", "parallel_calls", "verbosity"),
)
# Models that do not reason reject requests for reasoning.
_DO_NOT_REASON = ("gpt-3", "gpt-4", "chatgpt-4")


def encode_responses(request: Request) -> JSONObject:
    """Encode the body of `POST /responses`."""
    body: JSONObject = {
        "model": request.model,
        "input": _InputEncoder(request, _CALL_ID).encode(),
        "stream": True,
        "store": False,
    }
    if not request.model.rpartition("/")[2].startswith(_DO_NOT_REASON):
        body["include"] = ["reasoning.encrypted_content"]
    if request.instructions:
        body["instructions"] = request.instructions
    provided = encode_provider_tools(request)
    body |= encode_tool_fields(request, _encode_tool, _encode_tool_choice, provided)
    return body | _encode_options(request.options)


def _encode_options(options: Options) -> JSONObject:
    body = _OPTIONS.collect(options)
    if options.cache == "24h":
        body["prompt_cache_retention"] = "24h"
    if options.compact_at is not None:
        compaction = {"type": "compaction", "compact_threshold": options.compact_at}
        body["context_management"] = [compaction]
    if options.effort is not None:
        summary = {} if options.effort == "none" else {"summary": "auto"}
        body["reasoning"] = {"effort": options.effort} | summary
    if options.output is not None:
        output = options.output
        named_schema = {"type": "json_schema", "name": output.name, "strict": output.is_strict}
        body["text"] = {"format": named_schema | {"schema": output.schema}}
    if options.verbosity is not None:
        body["text"] = body.get("text", {}) | {"verbosity": options.verbosity}
    return body


def _encode_tool_choice(choice: str) -> Any:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "name": choice}


def _encode_tool(tool: ToolSpec) -> JSONObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.is_strict,
    }


class _InputEncoder(HistoryEncoder):
    dialect = "responses"
    _answers = ResultEncoder()
    _asked: frozenset[str] = frozenset()

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        content = [encode_content(_check_file(part)) for part in drop_empty_texts(prompt.content)]
        return [{"type": "message", "role": prompt.role, "content": content}] if content else []

    def encode_reply(self, reply: msg.AssistantEntry) -> list[Any]:
        self._answers = ResultEncoder(reply, self.is_ours)
        items = _ReplyEncoder(reply, self.is_ours, self.ids).items()
        self._asked = find_approval_requests(items)
        return items

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        return [self._answers.item(result, self.ids) for result in results]

    def encode_approvals(self, approvals: tuple[msg.ApprovalAnswer, ...]) -> list[JSONObject]:
        # An answer without its request is refused.
        return [encode_approval(answer) for answer in approvals if answer.item_id in self._asked]


def _check_file(entry: Content) -> Content:
    """Return the content. Raises `UsageError` for sound and video, which this API cannot read."""
    if isinstance(entry, FileContent) and entry.media_type.startswith(("audio/", "video/")):
        raise UsageError(
            f"the Responses API reads images and documents, and this is {entry.media_type}: ask a"
            " model for sound with openai-chat:"
        )
    return entry


class _ReplyEncoder:
    """Encodes one reply as items. An item with an id is rejected without the reasoning before it,
    so ids are sent only if all reasoning is."""

    def __init__(self, reply: msg.AssistantEntry, is_ours: bool, ids: CallIds) -> None:
        self._groups = group_by_item(reply.parts)
        self._is_ours = is_ours
        self._ids = ids
        thoughts = [group for group in self._groups if isinstance(group[0], msg.ReasoningPart)]
        self._is_intact = is_ours and all(_find_seal(group) for group in thoughts)
        self._outputs = Counter(map(_get_key, filter(None, map(_find_provider_item, self._groups))))

    def items(self) -> list[Any]:
        """Return the items. Reasoning is sent only before the item that followed it."""
        items: list[Any] = []
        pending: list[Any] = []
        for group in self._groups:
            made = self._encode_group(group)
            if isinstance(group[0], msg.ReasoningPart):
                pending += [made] if made is not None else []
                continue
            if made is not None:
                items += [*pending, made]
            pending = []
        return items

    def _encode_group(self, group: list[msg.Part]) -> Any:
        match group[0]:
            case msg.TextPart():
                return _encode_message(group, self._is_ours, self._is_intact)
            case msg.CallPart(executor="client") as call:
                return encode_call(call, self._is_ours, self._is_intact, self._ids)
            case _ if not self._is_intact:
                return None
            case msg.ReasoningPart():
                return _encode_reasoning(group)
            case msg.OpaquePart() as odd:
                return to_raw_json(odd)
            case _:
                return self._drop_if_unanswered(_find_provider_item(group))

    def _drop_if_unanswered(self, item: JSONObject | None) -> JSONObject | None:
        """Drop a call of the provider whose result, an item of its own, is missing."""
        answer = _ANSWERED_BY.get("" if item is None else item["type"])
        if item is None or answer is None:
            return item
        key = (answer, item.get("call_id"))
        self._outputs[key] -= 1
        return item if self._outputs[key] >= 0 else None


def _get_key(item: JSONObject) -> tuple[Any, Any]:
    return item.get("type"), item.get("call_id")


def _encode_message(group: list[msg.Part], is_ours: bool, is_intact: bool) -> JSONObject | None:
    parts = [part for part in group if isinstance(part, msg.TextPart) and part.text]
    if not parts:
        return None
    message: JSONObject = {"type": "message", "role": "assistant"}
    if is_ours and parts[0].channel in _PHASES:
        message["phase"] = parts[0].channel
    if not (is_intact and parts[0].item_id):
        return message | {"content": "".join(part.text for part in parts)}
    content = [_encode_text(part) for part in parts]
    return message | {"id": parts[0].item_id, "status": "completed", "content": content}


def _encode_text(part: msg.TextPart) -> JSONObject:
    if part.is_refusal:
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "text": part.text, "annotations": []}


def _find_seal(group: list[msg.Part]) -> str | None:
    seals = [seal for part in group for seal in part.seals if seal.kind == "encrypted"]
    return seals[-1].value if seals else None


def _encode_reasoning(group: list[msg.Part]) -> JSONObject:
    """Encode a reasoning item with its seal."""
    parts = [part for part in group if isinstance(part, msg.ReasoningPart) and part.text]
    item: JSONObject = {
        "type": "reasoning",
        "id": group[0].item_id or f"rs_{group[0].part}",
        "summary": [
            {"type": "summary_text", "text": part.text} for part in parts if part.kind == "summary"
        ],
        "encrypted_content": _find_seal(group),
    }
    raw = [{"type": "reasoning_text", "text": part.text} for part in parts if part.kind == "raw"]
    return item | ({"content": raw} if raw else {})


def _find_provider_item(group: list[msg.Part]) -> JSONObject | None:
    """Return a call that the provider ran, as its finished item. The image of it is stored only
    once."""
    item = next(filter(None, map(_find_finished_item, group)), None)
    if item is None:
        return None
    pictures = [part.data for part in group if isinstance(part, msg.MediaPart)]
    if item.get("type") == "custom_tool_call":
        item.pop("status", None)
    return item | ({"result": pictures[0]} if pictures else {})


def _find_finished_item(part: msg.Part) -> JSONObject | None:
    if not isinstance(part, msg.OutputPart):
        return None
    return dict(as_object((part.provider_data or {}).get("item"))) or None
