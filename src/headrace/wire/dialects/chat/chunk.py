"""Structs of a chat chunk: every field is optional, and only fields that are used are listed."""

from __future__ import annotations

from typing import Any

import msgspec

JSONObject = dict[str, Any]


class WireFunction(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Any = None
    input: str | None = None


class WireCall(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: WireFunction | None = None
    custom: WireFunction | None = None
    extra_content: JSONObject | None = None


class WireDetail(msgspec.Struct, gc=False):
    """One entry of `reasoning_details`."""

    type: str | None = None
    text: str | None = None
    summary: str | None = None
    data: str | None = None
    signature: str | None = None
    id: str | None = None
    index: int | None = None
    format: str | None = None


class WireThinkingBlock(msgspec.Struct, gc=False):
    """One entry of `thinking_blocks`: a copy of a signed block, made by a gateway."""

    type: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class WireDelta(msgspec.Struct, gc=False):
    content: str | list[Any] | JSONObject | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[WireDetail] | WireDetail | None = None
    reasoning_opaque: str | None = None
    thinking_blocks: list[WireThinkingBlock] | None = None
    tool_calls: list[WireCall] | WireCall | None = None
    function_call: WireFunction | None = None
    refusal: str | None = None
    channel: str | None = None
    annotations: list[Any] | None = None
    images: list[Any] | None = None
    audio: JSONObject | None = None
    executed_tools: list[Any] | None = None
    extra_content: JSONObject | None = None
    role: str | None = None


class WireChoice(msgspec.Struct, gc=False):
    index: int = 0
    delta: WireDelta | None = None
    message: WireDelta | None = None
    text: str | None = None
    finish_reason: Any = None
    error: Any = None
    usage: JSONObject | None = None
    logprobs: JSONObject | None = None


class WireChunk(msgspec.Struct, gc=False):
    choices: list[WireChoice] | None = None
    usage: JSONObject | None = None
    error: Any = None
    citations: list[Any] | None = None
    search_results: list[Any] | None = None
    web_search: list[Any] | None = None


class StrictDelta(WireDelta, gc=False, forbid_unknown_fields=True):
    """A delta without unknown fields. Numbers of tokens are known, but not used."""

    token_id: Any = None
    token_ids: Any = None


class StrictChoice(WireChoice, gc=False):
    # Narrower than in the base class, which is safe because a chunk is only read.
    delta: StrictDelta | None = None  # pyright: ignore[reportIncompatibleVariableOverride]


class StrictChunk(WireChunk, gc=False):
    """A chunk that has no unknown fields in its deltas."""

    choices: list[StrictChoice] | None = None  # type: ignore[assignment] # pyright: ignore


class PlainDelta(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A delta that has only text, reasoning or calls, like nearly all. Fields that may only be null
    are typed so; any other field makes it another kind of delta."""

    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[WireCall] | None = None
    refusal: None = None
    function_call: None = None
    reasoning: None = None


class PlainChoice(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    delta: PlainDelta
    index: int = 0
    finish_reason: None = None
    logprobs: None = None


class PlainChunk(msgspec.Struct, gc=False):
    """A chunk with nothing besides its deltas."""

    choices: list[PlainChoice]
    usage: None = None
    error: None = None
    citations: None = None
    search_results: None = None
    web_search: None = None


class WireHead(msgspec.Struct, gc=False):
    """What every chunk repeats. It is read only until the turn has started."""

    id: str | None = None
    model: str | None = None
    provider: str | None = None
