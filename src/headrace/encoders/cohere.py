"""Encodes Cohere chat requests, version 2."""

from __future__ import annotations

from typing import Any

from headrace import messages as msg
from headrace.content import Content, FileContent, ImageContent, data_url
from headrace.encoders import resend_rules as resend
from headrace.encoders.history_encoder import HistoryEncoder
from headrace.encoders.option_table import OptionTable
from headrace.encoders.request import (
    Effort,
    Options,
    Request,
    ToolSpec,
)
from headrace.encoders.text_content import (
    decode_text_file,
    drop_empty_texts,
    find_images,
    to_text,
)
from headrace.errors import UsageError
from headrace.events import JSONObject

_OPTIONS = OptionTable(
    provider="Cohere",
    fields={
        "max_tokens": "max_tokens",
        "temperature": "temperature",
        "top_p": "p",
        "top_k": "k",
        "seed": "seed",
        "stop": "stop_sequences",
        "frequency_penalty": "frequency_penalty",
        "presence_penalty": "presence_penalty",
        "logprobs": "logprobs",
    },
    encoded=("effort", "output"),
)
# Without a budget the model thinks as long as it likes.
_BUDGETS: dict[Effort, int] = {"minimal": 512, "low": 1_024, "medium": 4_096, "high": 16_384}


def encode_cohere(request: Request) -> JSONObject:
    """Encode the body of `POST /v2/chat`."""
    encoder = _MessageEncoder(request)
    body: JSONObject = {"model": request.model, "messages": encoder.encode(), "stream": True}
    if encoder.documents:
        body["documents"] = encoder.documents
    if request.tools:
        body["tools"] = [_encode_tool(tool) for tool in request.tools]
        if any(tool.is_strict for tool in request.tools):
            body["strict_tools"] = True
    if (choice := request.tool_choice) not in (None, "auto"):
        body["tool_choice"] = _encode_tool_choice(choice)
    return body | _encode_options(request.options)


def _encode_tool(tool: ToolSpec) -> JSONObject:
    function: JSONObject = {"name": tool.name, "parameters": tool.parameters}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _encode_tool_choice(choice: str | None) -> str:
    if choice not in ("none", "required"):
        raise UsageError(
            f"Cohere cannot be told to call {choice!r}: use tool_choice='required', or offer"
            " only this tool"
        )
    return choice.upper()


def _encode_options(options: Options) -> JSONObject:
    body = _OPTIONS.collect(options)
    if options.effort is not None:
        body["thinking"] = _encode_thinking(options.effort)
    if options.output is not None:
        body["response_format"] = {"type": "json_object", "json_schema": options.output.schema}
    return body


def _encode_thinking(effort: Effort) -> JSONObject:
    if effort == "none":
        return {"type": "disabled"}
    budget = _BUDGETS.get(effort)
    return {"type": "enabled"} | ({} if budget is None else {"token_budget": budget})


class _MessageEncoder(HistoryEncoder):
    """Encodes messages, and collects text files as documents that the model can cite."""

    dialect = "cohere"
    has_system_messages = True

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.documents: list[JSONObject] = []

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        content = drop_empty_texts(prompt.content)
        if prompt.role != "user":
            return [{"role": "system", "content": to_text(content)}] if content else []
        entries = [entry for entry in content if not self._take_document(entry)]
        if not entries and content:
            return [{"role": "user", "content": "Read the documents."}]
        if not find_images(entries):
            return [{"role": "user", "content": to_text(entries)}] if entries else []
        return [{"role": "user", "content": [_encode_content(entry) for entry in entries]}]

    def _take_document(self, entry: Content) -> bool:
        """Add a text file to the documents. Beside tools there are none, so it stays a text."""
        if not isinstance(entry, FileContent):
            return False
        text = decode_text_file(entry)
        if text is None:
            raise UsageError(f"Cohere reads text files, and this is {entry.media_type}")
        if self.request.tools:
            return False
        number = len(self.documents)
        title = {"title": entry.name} if entry.name else {}
        self.documents.append({"id": f"document-{number}", "data": {"text": text, **title}})
        return True

    def encode_reply(self, reply: msg.AssistantEntry) -> list[JSONObject]:
        """Encode a reply. The plan for calls has a field of its own, beside thinking and text."""
        content: list[JSONObject] = []
        plans: list[str] = []
        for part in reply.parts:
            if isinstance(part, msg.TextPart) and part.text.strip():
                content.append({"type": "text", "text": part.text})
            elif isinstance(part, msg.ReasoningPart) and self.is_ours and part.text:
                if (part.provider_data or {}).get("type") == "tool_plan":
                    plans.append(part.text)
                else:
                    content.append({"type": "thinking", "thinking": part.text})
        calls = [self._encode_call(call) for call in resend.iterate_client_calls(reply)]
        if all(entry["type"] == "thinking" for entry in content) and not calls:
            return []
        message: JSONObject = {"role": "assistant"}
        fields = {"content": content, "tool_calls": calls, "tool_plan": "".join(plans)}
        return [message | {name: value for name, value in fields.items() if value}]

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        return [self._encode_result(result) for result in results]

    def _encode_call(self, call: msg.CallPart) -> JSONObject:
        function = {
            "name": resend.get_tool_name(call),
            "arguments": resend.encode_arguments(call),
        }
        return {"id": self.ids[call.call_id], "type": "function", "function": function}

    def _encode_result(self, result: msg.CallResult) -> JSONObject:
        text = to_text(result.content)
        if result.is_error:
            text = f"Error: {text}"
        return {"role": "tool", "tool_call_id": self.ids[result.call_id], "content": text}


def _encode_content(entry: Content) -> Any:
    if isinstance(entry, ImageContent):
        return {"type": "image_url", "image_url": {"url": data_url(entry)}}
    return {"type": "text", "text": to_text((entry,))}
