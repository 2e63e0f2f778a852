"""Structs of Anthropic events: every field is optional, and only used fields are listed."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.wire.json.payload import encode_json

JSONObject = dict[str, Any]


class WireDelta(msgspec.Struct, gc=False):
    """The delta of a content block, or of the message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    citation: JSONObject | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None


class WireEvent(msgspec.Struct, gc=False):
    type: str | None = None
    index: int = 0
    delta: WireDelta | None = None
    content_block: JSONObject | None = None
    message: JSONObject | None = None
    usage: JSONObject | None = None
    error: Any = None


class _RawInput(msgspec.Struct):
    input: msgspec.Raw = msgspec.Raw()


class _RawBlock(msgspec.Struct):
    content_block: msgspec.Raw = msgspec.Raw()


_decode_block = msgspec.json.Decoder(_RawBlock).decode
_decode_input = msgspec.json.Decoder(_RawInput).decode


def extract_block_json(data: bytes, block: JSONObject) -> str:
    """Return the JSON of the content block of a frame, byte for byte if the bytes are valid."""
    try:
        return bytes(_decode_block(data).content_block).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return encode_json(block)


def extract_input_json(block: str) -> str:
    """Return the JSON of the `input` of a call block."""
    return bytes(_decode_input(block).input).decode()
