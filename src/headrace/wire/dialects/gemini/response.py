"""Structs of a Gemini chunk: every field is optional, and only fields that are used are listed."""

from __future__ import annotations

from typing import Any

import msgspec

JSONObject = dict[str, Any]


class WirePart(msgspec.Struct, rename="camel", gc=False):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: JSONObject | None = None
    executable_code: JSONObject | None = None
    code_execution_result: JSONObject | None = None
    tool_call: JSONObject | None = None
    tool_response: JSONObject | None = None
    inline_data: JSONObject | None = None
    file_data: JSONObject | None = None

    @property
    def is_other(self) -> bool:
        """Whether it has anything other than text."""
        return not (
            self.function_call is None
            and self.executable_code is None
            and self.code_execution_result is None
            and self.tool_call is None
            and self.tool_response is None
            and self.inline_data is None
            and self.file_data is None
        )


class WireContent(msgspec.Struct, gc=False):
    parts: list[WirePart] | None = None
    role: str | None = None


class WireCandidate(msgspec.Struct, rename="camel", gc=False):
    index: int = 0
    content: WireContent | None = None
    finish_reason: str | int | None = None
    finish_message: str | None = None
    grounding_metadata: JSONObject | None = None
    citation_metadata: JSONObject | None = None
    url_context_metadata: JSONObject | None = None


NO_DETAILS = msgspec.Raw()


class WireUsage(msgspec.Struct, rename="camel", gc=False):
    # In the order in which they are sent, which is read fastest. The details are lists of counts
    # by modality, which are read once, at the end of the stream.
    prompt_token_count: Any = None
    candidates_token_count: Any = None
    total_token_count: Any = None
    prompt_tokens_details: msgspec.Raw = NO_DETAILS
    candidates_tokens_details: msgspec.Raw = NO_DETAILS
    thoughts_token_count: Any = None
    cached_content_token_count: Any = None
    cache_tokens_details: msgspec.Raw = NO_DETAILS
    tool_use_prompt_token_count: Any = None
    tool_use_prompt_tokens_details: msgspec.Raw = NO_DETAILS
    service_tier: Any = None
    traffic_type: Any = None


class PlainPart(msgspec.Struct, rename="camel", gc=False):
    """A part with text and without a signature."""

    text: str
    thought: bool | None = None
    thought_signature: None = None


class PlainContent(msgspec.Struct, gc=False):
    parts: list[PlainPart]


class PlainCandidate(msgspec.Struct, rename="camel", gc=False):
    content: PlainContent
    index: int = 0
    finish_reason: None = None
    grounding_metadata: None = None
    citation_metadata: None = None
    url_context_metadata: None = None


class PlainResponse(msgspec.Struct, rename="camel", gc=False):
    """A chunk with nothing besides text and usage, like nearly all."""

    candidates: list[PlainCandidate]
    usage_metadata: WireUsage | None = None
    prompt_feedback: None = None
    error: None = None


class WireResponse(msgspec.Struct, rename="camel", gc=False):
    candidates: list[WireCandidate] | None = None
    usage_metadata: WireUsage | None = None
    prompt_feedback: JSONObject | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Any = None
