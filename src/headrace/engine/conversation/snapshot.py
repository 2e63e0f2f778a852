"""Encode and decode the snapshot of a conversation."""

from __future__ import annotations

import json
from typing import Final

import msgspec

from headrace.errors import UsageError
from headrace.messages import Message
from headrace.usage import Usage

VERSION: Final = 1


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON form of a conversation. Decoding follows this type alone, and never a tag inside
    of content from users, models or tools."""

    version: int
    messages: tuple[Message, ...]
    pinned: list[int] = []
    usage: Usage = Usage()


def encode_snapshot(stored: Snapshot) -> bytes:
    """Encode a snapshot as JSON."""
    try:
        return msgspec.json.encode(stored)
    except UnicodeEncodeError:
        # The input of a caller may contain lone surrogates, which only escapes can hold.
        return json.dumps(msgspec.to_builtins(stored), separators=(",", ":")).encode()


def decode_snapshot(data: bytes | str) -> Snapshot:
    """Decode a snapshot. Raises `UsageError` for invalid data and for other versions."""
    stored = _decode(data)
    if stored.version != VERSION:
        raise UsageError(f"expected a snapshot of version {VERSION}; got {stored.version}")
    return stored


def _decode(data: bytes | str) -> Snapshot:
    try:
        return msgspec.json.decode(data, type=Snapshot)
    except msgspec.ValidationError as error:
        raise UsageError(f"expected a snapshot of a conversation: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(data), Snapshot)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"expected a snapshot of a conversation: {error}") from None
