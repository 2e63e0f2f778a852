"""The frames of the Chat Completions protocol. Field names are those on the wire."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from headrace.outcome import FinishReason
from headrace.usage import Usage


class FunctionStart(msgspec.Struct, frozen=True, gc=False):
    """The name of a function that is called."""

    name: str
    arguments: str = ""


class FunctionDelta(msgspec.Struct, frozen=True, gc=False):
    """More of the arguments."""

    arguments: str


class CustomStart(msgspec.Struct, frozen=True, gc=False):
    """The name of a custom tool that is called, whose input is plain text."""

    name: str
    input: str = ""


class CustomDelta(msgspec.Struct, frozen=True, gc=False):
    """More of the input."""

    input: str


class CallDelta(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of `tool_calls`: the start of a call, more of its arguments, or its signature."""

    index: int
    id: str | None = None
    type: Literal["function", "custom"] | None = None
    function: FunctionStart | FunctionDelta | None = None
    custom: CustomStart | CustomDelta | None = None
    extra_content: dict[str, Any] | None = None
    """What the provider needs back with the call, as Google's compatible address has it."""


class ThinkingBlock(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A signed block of reasoning, in the shape that LiteLLM has introduced."""

    # `index` is what the OpenAI SDKs merge the entries of a list by.
    index: int
    type: Literal["thinking", "redacted_thinking"]
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class Delta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a chunk adds to a message."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[CallDelta, ...] = ()
    role: str | None = None
    refusal: str | None = None
    thinking_blocks: tuple[ThinkingBlock, ...] = ()
    annotations: tuple[dict[str, Any], ...] = ()
    images: tuple[dict[str, Any], ...] = ()


class Choice(msgspec.Struct, frozen=True):
    """One choice of a chunk."""

    index: int
    delta: Delta
    finish_reason: str | None = None
    logprobs: Any = UNSET


class Chunk(msgspec.Struct, frozen=True):
    """One chunk: more of a choice, the end of a choice, or the usage."""

    id: str
    object: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: dict[str, Any] | UnsetType = UNSET
    service_tier: str | UnsetType = UNSET
    warning: str | UnsetType = UNSET
    """What is known about content that is missing because frames could not be read."""


TextField: TypeAlias = Literal["content", "reasoning_content", "reasoning", "refusal"]


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A chunk with nothing but more text of one field, as nearly all are. What such chunks have in
    common is encoded once, in `prefix`."""

    prefix: bytes
    text: str
    index: int
    """The number of the choice."""
    field: TextField

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choice that the text belongs to, as in a `Chunk`."""
        fields: dict[str, Any] = {self.field: self.text}
        return (Choice(self.index, Delta(**fields)),)


def encode_prefix(chunk: Chunk, field: TextField) -> bytes:
    """Return the bytes of a chunk with one choice up to the text of this field."""
    encoded = _encode(chunk)
    at = encoded.index(b'"delta":{') + len(b'"delta":{')
    return b'%b"%b":' % (encoded[:at], field.encode())


_PIECE_END = b'},"finish_reason":null}]}'


class ErrorBody(msgspec.Struct, frozen=True, gc=False):
    """What went wrong, in OpenAI's shape."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorFrame(msgspec.Struct, frozen=True, gc=False):
    """The answer failed. What was sent before remains valid."""

    error: ErrorBody


class EndOfFrames(msgspec.Struct, frozen=True, gc=False):
    """`[DONE]`: no frame follows."""


END_OF_FRAMES = EndOfFrames()
ChatFrame: TypeAlias = Piece | Chunk | ErrorFrame | EndOfFrames

_encode = msgspec.json.Encoder().encode


def encode_frame(frame: ChatFrame) -> bytes:
    """Return the payload of a frame: JSON, or `[DONE]`."""
    if type(frame) is Piece:
        return frame.prefix + _encode(frame.text) + _PIECE_END
    return b"[DONE]" if frame is END_OF_FRAMES else _encode(frame)


def frame_type(frame: ChatFrame) -> str:
    """Return the name of a frame's type: `chunk`, `error` or `[DONE]`."""
    if isinstance(frame, Piece | Chunk):
        return "chunk"
    return "error" if isinstance(frame, ErrorFrame) else "[DONE]"


# --- words and counts -------------------------------------------------------------

FINISH_WORDS: dict[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "context_full": "length",
    "time_limit": "length",
    # The answer is not whole, and the protocol has no word for why.
    "paused": "length",
    "aborted": "length",
    "content_filter": "content_filter",
}
"""OpenAI's word for each finish reason. A reason that is not here keeps the provider's own word."""

_ERROR_TYPES: dict[str, tuple[str, str | None]] = {
    "auth": ("authentication_error", "invalid_api_key"),
    "permission": ("permission_error", "permission_denied"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "invalid_request": ("invalid_request_error", None),
    "not_found": ("invalid_request_error", "model_not_found"),
    "context_overflow": ("invalid_request_error", "context_length_exceeded"),
    "content_filter": ("invalid_request_error", "content_filter"),
    "overloaded": ("server_error", "overloaded"),
    "timeout": ("server_error", "timeout"),
}


def to_finish_word(reason: FinishReason) -> str | None:
    """Return the `finish_reason` of a choice, or None if the provider gave no reason."""
    return FINISH_WORDS.get(reason.word, reason.detail) or None


def to_error(category: str, message: str, code: str | None = None) -> ErrorBody:
    """Return an error in OpenAI's shape. `code` is the provider's own, if it gave one."""
    kind, usual = _ERROR_TYPES.get(category, ("server_error", category))
    return ErrorBody(message, kind, code=code or usual)


def to_usage(usage: Usage) -> dict[str, Any]:
    """Return token counts in OpenAI's shape. A count that is not known is 0 where the protocol
    requires a number."""
    prompt, completion = usage.input_tokens or 0, usage.output_tokens or 0
    body: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion if usage.total_tokens is None else usage.total_tokens,
    }
    units = usage.units or {}
    details: dict[str, dict[str, int | None]] = {
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
            "audio_tokens": units.get("input_audio_tokens"),
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": units.get("output_audio_tokens"),
        },
    }
    for name, counts in details.items():
        known = {key: count for key, count in counts.items() if count is not None}
        if known:
            body[name] = known
    if usage.cost is not None:
        body["cost"] = usage.cost
    return body
