"""Structs of an xAI chunk: each field with its number in xAI's messages, and all of them optional.
https://github.com/xai-org/xai-proto/tree/main/proto/xai/api/v1 (chat, sample, usage), as of
2026-11. What is not here (what is yet to come) is skipped."""

from __future__ import annotations

from typing import Annotated

import msgspec

from headrace.wire.dialects.xai import enums
from headrace.wire.protobuf import INT64, Message, create_table


class WireFunction(msgspec.Struct, gc=False):
    name: Annotated[str | None, 1] = None
    arguments: Annotated[str | None, 2] = None


class WireCall(msgspec.Struct, gc=False):
    id: Annotated[str | None, 1] = None
    type: Annotated[str | None, 2, enums.CALL_TYPE] = None
    status: Annotated[str | None, 3, enums.STATUS] = None
    error_message: Annotated[str | None, 4] = None
    function: Annotated[WireFunction | None, 10] = None


class WirePage(msgspec.Struct, gc=False):
    """A page of the web, or a post."""

    url: Annotated[str | None, 1] = None


class WireCollection(msgspec.Struct, gc=False):
    file_id: Annotated[str | None, 1] = None
    chunk_id: Annotated[str | None, 2] = None
    chunk_content: Annotated[str | None, 3] = None
    score: Annotated[float | None, 4] = None
    collection_ids: Annotated[list[str] | None, 5] = None


class WireCitation(msgspec.Struct, gc=False, omit_defaults=True):
    id: Annotated[str | None, 1] = None
    start_index: Annotated[int | None, 2] = None
    end_index: Annotated[int | None, 6] = None
    web_citation: Annotated[WirePage | None, 3] = None
    x_citation: Annotated[WirePage | None, 4] = None
    collections_citation: Annotated[WireCollection | None, 5] = None


class WireDelta(msgspec.Struct, gc=False):
    content: Annotated[str | None, 1] = None
    reasoning_content: Annotated[str | None, 4] = None
    role: Annotated[str | None, 2, enums.ROLE] = None
    tool_calls: Annotated[list[WireCall] | None, 3] = None
    encrypted_content: Annotated[str | None, 5] = None
    citations: Annotated[list[WireCitation] | None, 6] = None


class WireTopLogProb(msgspec.Struct, gc=False, omit_defaults=True):
    token: Annotated[str | None, 1] = None
    logprob: Annotated[float | None, 2] = None


class WireLogProb(msgspec.Struct, gc=False, omit_defaults=True):
    token: Annotated[str | None, 1] = None
    logprob: Annotated[float | None, 2] = None
    top_logprobs: Annotated[list[WireTopLogProb] | None, 4] = None


class WireLogProbs(msgspec.Struct, gc=False, omit_defaults=True):
    content: Annotated[list[WireLogProb] | None, 1] = None


class WireOutput(msgspec.Struct, gc=False):
    delta: Annotated[WireDelta | None, 1] = None
    logprobs: Annotated[WireLogProbs | None, 2] = None
    finish_reason: Annotated[str | None, 3, enums.REASON] = None
    index: Annotated[int | None, 4] = None


class WireUsage(msgspec.Struct, gc=False):
    completion_tokens: Annotated[int | None, 1] = None
    reasoning_tokens: Annotated[int | None, 6] = None
    prompt_tokens: Annotated[int | None, 2] = None
    total_tokens: Annotated[int | None, 3] = None
    cached_prompt_text_tokens: Annotated[int | None, 7] = None
    cost_in_usd_ticks: Annotated[int | None, 11, INT64] = None
    prompt_image_tokens: Annotated[int | None, 5] = None
    num_sources_used: Annotated[int | None, 8] = None
    server_side_tools_used: Annotated[list[str] | None, 9, enums.SERVER_TOOL] = None


class WireFile(msgspec.Struct, gc=False, omit_defaults=True):
    file_id: Annotated[str | None, 1] = None
    name: Annotated[str | None, 2] = None


class WireTimestamp(msgspec.Struct, gc=False, omit_defaults=True):
    seconds: Annotated[int | None, 1, INT64] = None
    nanos: Annotated[int | None, 2] = None


class WireDebug(msgspec.Struct, gc=False, omit_defaults=True):
    attempts: Annotated[int | None, 1] = None
    request: Annotated[str | None, 2] = None
    prompt: Annotated[str | None, 3] = None
    responses: Annotated[list[str] | None, 4] = None
    cache_read_count: Annotated[int | None, 5, INT64] = None
    cache_read_input_bytes: Annotated[int | None, 6, INT64] = None
    cache_write_count: Annotated[int | None, 7, INT64] = None
    cache_write_input_bytes: Annotated[int | None, 8, INT64] = None
    engine_request: Annotated[str | None, 9] = None
    lb_address: Annotated[str | None, 10] = None
    sampler_tag: Annotated[str | None, 11] = None
    chunks: Annotated[list[str] | None, 12] = None


class WireChunk(msgspec.Struct, gc=False):
    id: Annotated[str | None, 1] = None
    outputs: Annotated[list[WireOutput] | None, 2] = None
    model: Annotated[str | None, 4] = None
    system_fingerprint: Annotated[str | None, 5] = None
    usage: Annotated[WireUsage | None, 6] = None
    citations: Annotated[list[str] | None, 7] = None
    created: Annotated[WireTimestamp | None, 3] = None
    debug_output: Annotated[WireDebug | None, 10] = None
    output_files: Annotated[list[WireFile] | None, 11] = None
    service_tier: Annotated[str | None, 12, enums.SERVICE_TIER] = None


_HEAD = ("id", "model", "system_fingerprint", "created")


def _without_head(chunk: Message[WireChunk]) -> Message[WireChunk]:
    rest = {number: field for number, field in chunk.fields.items() if field.name not in _HEAD}
    return Message(WireChunk, rest)


# What every chunk repeats is read only until it is known, and log-probabilities only where
# somebody wants them.
CHUNK = create_table(WireChunk, leaves_out="logprobs")
LATER_CHUNK = _without_head(CHUNK)
CHUNK_WITH_LOGPROBS = create_table(WireChunk)
LATER_CHUNK_WITH_LOGPROBS = _without_head(CHUNK_WITH_LOGPROBS)
