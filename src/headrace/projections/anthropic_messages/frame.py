"""The frames of the Messages protocol. Field names are those on the wire."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import msgspec

from headrace.events import JSONObject
from headrace.outcome import FinishReason
from headrace.usage import Usage


class MessageStart(msgspec.Struct, frozen=True, tag="message_start"):
    """The message begins, without content."""

    message: JSONObject


class Ping(msgspec.Struct, frozen=True, tag="ping", gc=False):
    """Nothing has happened."""


class BlockStart(msgspec.Struct, frozen=True, tag="content_block_start"):
    """A block begins. Blocks that do not grow are complete here."""

    index: int
    content_block: JSONObject


class TextBody(msgspec.Struct, frozen=True, tag="text_delta", gc=False):
    """More text."""

    text: str


class ThinkingBody(msgspec.Struct, frozen=True, tag="thinking_delta", gc=False):
    """More reasoning."""

    thinking: str


class InputBody(msgspec.Struct, frozen=True, tag="input_json_delta", gc=False):
    """More of the arguments of a call."""

    partial_json: str


class SignatureBody(msgspec.Struct, frozen=True, tag="signature_delta", gc=False):
    """The signature of a block of reasoning."""

    signature: str


class CitationBody(msgspec.Struct, frozen=True, tag="citations_delta"):
    """A source of the text."""

    citation: JSONObject


DeltaBody: TypeAlias = TextBody | ThinkingBody | InputBody | SignatureBody | CitationBody


class BlockDelta(msgspec.Struct, frozen=True, tag="content_block_delta"):
    """More of an open block."""

    index: int
    delta: DeltaBody


class BlockStop(msgspec.Struct, frozen=True, tag="content_block_stop", gc=False):
    """A block has ended."""

    index: int


class MessageDelta(msgspec.Struct, frozen=True, tag="message_delta", omit_defaults=True):
    """Why the message ended, and its usage."""

    delta: JSONObject
    usage: JSONObject
    warning: str | None = None
    """What is known about content that is missing because frames could not be read."""


class MessageStop(msgspec.Struct, frozen=True, tag="message_stop", gc=False):
    """The message has ended."""


class ErrorBody(msgspec.Struct, frozen=True, gc=False):
    """What went wrong, in Anthropic's shape."""

    type: str
    message: str


class ErrorFrame(msgspec.Struct, frozen=True, tag="error", gc=False):
    """The message failed. What was sent before remains valid."""

    error: ErrorBody


MessagesFrame: TypeAlias = (
    BlockDelta
    | BlockStart
    | BlockStop
    | MessageStart
    | Ping
    | MessageDelta
    | MessageStop
    | ErrorFrame
)
encode_frame = msgspec.json.Encoder().encode


def frame_type(frame: MessagesFrame) -> str:
    """Return the frame's `type`."""
    return str(frame.__struct_config__.tag)


# --- words and counts -------------------------------------------------------------

STOP_WORDS: dict[str, str] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "content_filter": "refusal",
    "context_full": "model_context_window_exceeded",
    "paused": "pause_turn",
    # The answer is not whole, and the protocol has no word for why.
    "time_limit": "max_tokens",
    "aborted": "max_tokens",
}
"""Anthropic's word for each finish reason. A reason that is not here keeps the provider's own
word."""

_ERROR_TYPES: dict[str, str] = {
    "auth": "authentication_error",
    "permission": "permission_error",
    "rate_limit": "rate_limit_error",
    "invalid_request": "invalid_request_error",
    "not_found": "not_found_error",
    "context_overflow": "invalid_request_error",
    "content_filter": "invalid_request_error",
    "overloaded": "overloaded_error",
    "timeout": "timeout_error",
}


def to_stop_word(reason: FinishReason) -> str | None:
    """Return the `stop_reason` of a message, or None if the provider gave no reason."""
    return STOP_WORDS.get(reason.word, reason.detail) or None


def to_error(category: str, message: str) -> ErrorBody:
    """Return an error in Anthropic's shape."""
    return ErrorBody(_ERROR_TYPES.get(category, "api_error"), message)


def to_usage(usage: Usage) -> JSONObject:
    """Return token counts in Anthropic's shape, in which cached input is counted on its own. A
    count that is not known is 0 where the protocol requires a number."""
    cached, created = usage.cached_input_tokens, usage.cache_creation_input_tokens
    fresh = (usage.input_tokens or 0) - (cached or 0) - (created or 0)
    body: JSONObject = {
        "input_tokens": max(fresh, 0),
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.output_tokens or 0,
    }
    lives = (usage.cache_creation_5m_tokens, usage.cache_creation_1h_tokens)
    if lives != (None, None):
        body["cache_creation"] = {
            "ephemeral_5m_input_tokens": lives[0] or 0,
            "ephemeral_1h_input_tokens": lives[1] or 0,
        }
    if usage.reasoning_tokens is not None:
        body["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    searches = (usage.units or {}).get("web_searches")
    if searches:
        body["server_tool_use"] = {"web_search_requests": searches}
    if usage.cost is not None:
        body["cost"] = usage.cost
    return body


def to_citation(raw: Any, is_ours: bool, *, ref: str, title: str, quote: str) -> JSONObject | None:
    """Return a citation in Anthropic's shape, or None: of other providers only addresses fit."""
    if is_ours and isinstance(raw, dict):
        return cast("JSONObject", raw)
    if not ref.startswith(("http://", "https://")):
        return None
    return {
        "type": "web_search_result_location",
        "url": ref,
        "title": title,
        "cited_text": quote,
        "encrypted_index": "",
    }
