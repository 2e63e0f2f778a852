"""Structs of an xAI chunk: every field is optional, and only fields that are used are listed. Enums
are words; `schema` has the field numbers."""

from __future__ import annotations

import msgspec


class WireFunction(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class WireCall(msgspec.Struct, gc=False):
    id: str | None = None
    type: str | None = None
    status: str | None = None
    error_message: str | None = None
    function: WireFunction | None = None


class WirePage(msgspec.Struct, gc=False):
    """A page of the web, or a post."""

    url: str | None = None


class WireCollection(msgspec.Struct, gc=False):
    file_id: str | None = None
    chunk_id: str | None = None
    chunk_content: str | None = None
    score: float | None = None
    collection_ids: list[str] | None = None


class WireCitation(msgspec.Struct, gc=False, omit_defaults=True):
    id: str | None = None
    start_index: int | None = None
    end_index: int | None = None
    web_citation: WirePage | None = None
    x_citation: WirePage | None = None
    collections_citation: WireCollection | None = None


class WireDelta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    role: str | None = None
    tool_calls: list[WireCall] | None = None
    encrypted_content: str | None = None
    citations: list[WireCitation] | None = None


class WireTopLogProb(msgspec.Struct, gc=False, omit_defaults=True):
    token: str | None = None
    logprob: float | None = None


class WireLogProb(msgspec.Struct, gc=False, omit_defaults=True):
    token: str | None = None
    logprob: float | None = None
    top_logprobs: list[WireTopLogProb] | None = None


class WireLogProbs(msgspec.Struct, gc=False, omit_defaults=True):
    content: list[WireLogProb] | None = None


class WireOutput(msgspec.Struct, gc=False):
    delta: WireDelta | None = None
    logprobs: WireLogProbs | None = None
    finish_reason: str | None = None
    index: int | None = None


class WireUsage(msgspec.Struct, gc=False):
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    prompt_tokens: int | None = None
    total_tokens: int | None = None
    cached_prompt_text_tokens: int | None = None
    cost_in_usd_ticks: int | None = None
    prompt_image_tokens: int | None = None
    num_sources_used: int | None = None
    server_side_tools_used: list[str] | None = None


class WireFile(msgspec.Struct, gc=False, omit_defaults=True):
    file_id: str | None = None
    name: str | None = None


class WireChunk(msgspec.Struct, gc=False):
    id: str | None = None
    outputs: list[WireOutput] | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: WireUsage | None = None
    citations: list[str] | None = None
    output_files: list[WireFile] | None = None
    service_tier: str | None = None
