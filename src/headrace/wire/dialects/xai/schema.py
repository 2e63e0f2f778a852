"""Which field of xAI's messages has which number, as data.
https://github.com/xai-org/xai-proto/tree/main/proto/xai/api/v1 (chat, sample, usage), as of
2026-11. What is not here (`created`, `debug_output` and what is yet to come) is skipped."""

from __future__ import annotations

from headrace.wire.dialects.xai.chunk import (
    WireCall,
    WireChunk,
    WireCitation,
    WireCollection,
    WireDelta,
    WireFile,
    WireFunction,
    WireLogProb,
    WireLogProbs,
    WireOutput,
    WirePage,
    WireTopLogProb,
    WireUsage,
)
from headrace.wire.protobuf import FLOAT, INT32, INT64, TEXT, Enum, Field, Message

ROLE = Enum(
    "INVALID_ROLE",
    "ROLE_USER",
    "ROLE_ASSISTANT",
    "ROLE_SYSTEM",
    "ROLE_FUNCTION",
    "ROLE_TOOL",
    "ROLE_DEVELOPER",
)
REASON = Enum(
    "REASON_INVALID",
    "REASON_MAX_LEN",
    "REASON_MAX_CONTEXT",
    "REASON_STOP",
    "REASON_TOOL_CALLS",
    "REASON_TIME_LIMIT",
)
CALL_TYPE = Enum(
    "TOOL_CALL_TYPE_INVALID",
    "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL",
    "TOOL_CALL_TYPE_WEB_SEARCH_TOOL",
    "TOOL_CALL_TYPE_X_SEARCH_TOOL",
    "TOOL_CALL_TYPE_CODE_EXECUTION_TOOL",
    "TOOL_CALL_TYPE_COLLECTIONS_SEARCH_TOOL",
    "TOOL_CALL_TYPE_MCP_TOOL",
    "TOOL_CALL_TYPE_ATTACHMENT_SEARCH_TOOL",
    TOOL_CALL_TYPE_IMAGE_GENERATION_TOOL=10,
)
STATUS = Enum(
    "TOOL_CALL_STATUS_IN_PROGRESS",
    "TOOL_CALL_STATUS_COMPLETED",
    "TOOL_CALL_STATUS_INCOMPLETE",
    "TOOL_CALL_STATUS_FAILED",
)
SERVICE_TIER = Enum("SERVICE_TIER_UNSPECIFIED", "SERVICE_TIER_DEFAULT", "SERVICE_TIER_PRIORITY")
SERVER_TOOL = Enum(
    "SERVER_SIDE_TOOL_INVALID",
    "SERVER_SIDE_TOOL_WEB_SEARCH",
    "SERVER_SIDE_TOOL_X_SEARCH",
    "SERVER_SIDE_TOOL_CODE_EXECUTION",
    "SERVER_SIDE_TOOL_VIEW_IMAGE",
    "SERVER_SIDE_TOOL_VIEW_X_VIDEO",
    "SERVER_SIDE_TOOL_COLLECTIONS_SEARCH",
    "SERVER_SIDE_TOOL_MCP",
    "SERVER_SIDE_TOOL_ATTACHMENT_SEARCH",
    SERVER_SIDE_TOOL_IMAGE_SEARCH=10,
    SERVER_SIDE_TOOL_IMAGE_GENERATION=11,
)

_FUNCTION = Message(WireFunction, {1: Field("name", TEXT), 2: Field("arguments", TEXT)})
_CALL = Message(
    WireCall,
    {
        1: Field("id", TEXT),
        2: Field("type", CALL_TYPE),
        3: Field("status", STATUS),
        4: Field("error_message", TEXT),
        10: Field("function", _FUNCTION),
    },
)
_PAGE = Message(WirePage, {1: Field("url", TEXT)})
_COLLECTION = Message(
    WireCollection,
    {
        1: Field("file_id", TEXT),
        2: Field("chunk_id", TEXT),
        3: Field("chunk_content", TEXT),
        4: Field("score", FLOAT),
        5: Field("collection_ids", TEXT, is_list=True),
    },
)
_CITATION = Message(
    WireCitation,
    {
        1: Field("id", TEXT),
        2: Field("start_index", INT32),
        3: Field("web_citation", _PAGE),
        4: Field("x_citation", _PAGE),
        5: Field("collections_citation", _COLLECTION),
        6: Field("end_index", INT32),
    },
)
_DELTA = Message(
    WireDelta,
    {
        1: Field("content", TEXT),
        2: Field("role", ROLE),
        3: Field("tool_calls", _CALL, is_list=True),
        4: Field("reasoning_content", TEXT),
        5: Field("encrypted_content", TEXT),
        6: Field("citations", _CITATION, is_list=True),
    },
)
_TOP_LOGPROB = Message(WireTopLogProb, {1: Field("token", TEXT), 2: Field("logprob", FLOAT)})
_LOGPROB = Message(
    WireLogProb,
    {
        1: Field("token", TEXT),
        2: Field("logprob", FLOAT),
        4: Field("top_logprobs", _TOP_LOGPROB, is_list=True),
    },
)
_LOGPROBS = Message(WireLogProbs, {1: Field("content", _LOGPROB, is_list=True)})
_OUTPUT_FIELDS = {
    1: Field("delta", _DELTA),
    3: Field("finish_reason", REASON),
    4: Field("index", INT32),
}
_OUTPUT = Message(WireOutput, _OUTPUT_FIELDS)
_OUTPUT_WITH_LOGPROBS = Message(WireOutput, {**_OUTPUT_FIELDS, 2: Field("logprobs", _LOGPROBS)})
_USAGE = Message(
    WireUsage,
    {
        1: Field("completion_tokens", INT32),
        2: Field("prompt_tokens", INT32),
        3: Field("total_tokens", INT32),
        5: Field("prompt_image_tokens", INT32),
        6: Field("reasoning_tokens", INT32),
        7: Field("cached_prompt_text_tokens", INT32),
        8: Field("num_sources_used", INT32),
        9: Field("server_side_tools_used", SERVER_TOOL, is_list=True),
        11: Field("cost_in_usd_ticks", INT64),
    },
)
_FILE = Message(WireFile, {1: Field("file_id", TEXT), 2: Field("name", TEXT)})
_BODY = {
    6: Field("usage", _USAGE),
    7: Field("citations", TEXT, is_list=True),
    11: Field("output_files", _FILE, is_list=True),
    12: Field("service_tier", SERVICE_TIER),
}
_HEAD = {1: Field("id", TEXT), 4: Field("model", TEXT), 5: Field("system_fingerprint", TEXT)}


def _chunk(output: Message[WireOutput], *, has_head: bool) -> Message[WireChunk]:
    head = _HEAD if has_head else {}
    return Message(WireChunk, {**head, 2: Field("outputs", output, is_list=True), **_BODY})


# What every chunk repeats is read only until it is known, and log-probabilities only where
# somebody wants them.
CHUNK = _chunk(_OUTPUT, has_head=True)
LATER_CHUNK = _chunk(_OUTPUT, has_head=False)
CHUNK_WITH_LOGPROBS = _chunk(_OUTPUT_WITH_LOGPROBS, has_head=True)
LATER_CHUNK_WITH_LOGPROBS = _chunk(_OUTPUT_WITH_LOGPROBS, has_head=False)
