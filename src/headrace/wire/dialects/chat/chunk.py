"""The chunk as it lies on the wire: every field optional, only what we use."""

from __future__ import annotations

from typing import Any

import msgspec

JSONObject = dict[str, Any]


class WireFunction(msgspec.Struct):
    name: str | None = None
    arguments: str | JSONObject | None = None
    input: str | None = None


class WireCall(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: WireFunction | None = None
    custom: WireFunction | None = None
    extra_content: JSONObject | None = None


class WireDetail(msgspec.Struct):
    """One entry of `reasoning_details`."""

    type: str | None = None
    text: str | None = None
    summary: str | None = None
    data: str | None = None
    signature: str | None = None
    id: str | None = None
    index: int | None = None
    format: str | None = None


class WireThinkingBlock(msgspec.Struct):
    """One entry of `thinking_blocks`: a gateway's copy of a signed block."""

    type: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class WireDelta(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[WireDetail] | None = None
    reasoning_opaque: str | None = None
    thinking_blocks: list[WireThinkingBlock] | None = None
    tool_calls: list[WireCall] | None = None
    function_call: WireFunction | None = None
    refusal: str | None = None
    channel: str | None = None
    annotations: list[Any] | None = None
    images: list[Any] | None = None
    audio: JSONObject | None = None
    role: str | None = None


class WireChoice(msgspec.Struct):
    index: int = 0
    delta: WireDelta | None = None
    message: WireDelta | None = None
    text: str | None = None
    finish_reason: str | None = None
    usage: JSONObject | None = None
    logprobs: JSONObject | None = None


class WireChunk(msgspec.Struct):
    choices: list[WireChoice] | None = None
    usage: JSONObject | None = None
    error: Any = None
    x_groq: JSONObject | None = None
    citations: list[Any] | None = None
    search_results: list[Any] | None = None
    id: str | None = None
    model: str | None = None
    provider: str | None = None
    object: str | None = None
    service_tier: str | None = None
