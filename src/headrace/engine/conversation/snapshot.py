"""A conversation as JSON, and back."""

from __future__ import annotations

import json
from typing import Final

import msgspec

from headrace.errors import UsageError
from headrace.messages import Message
from headrace.usage import Usage

VERSION: Final = 1


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """How a conversation lies in JSON. Its shape is told by this type alone: no tag inside
    of what people, models and tools said is ever looked at."""

    version: int
    messages: tuple[Message, ...]
    pinned: list[int] = []
    usage: Usage = Usage()


def encode_snapshot(stored: Snapshot) -> bytes:
    """As JSON."""
    try:
        return msgspec.json.encode(stored)
    except UnicodeEncodeError:
        # Half of a pair of surrogates: the wire lets none through, but a caller may bring one
        # in what is asked, and only escapes can hold it.
        return json.dumps(msgspec.to_builtins(stored), separators=(",", ":")).encode()


def decode_snapshot(data: bytes | str) -> Snapshot:
    """Raises `UsageError` for what is no snapshot, or one of another version."""
    stored = _decoded(data)
    if stored.version != VERSION:
        raise UsageError(f"expected a snapshot of version {VERSION}; got {stored.version}")
    return stored


def _decoded(data: bytes | str) -> Snapshot:
    try:
        return msgspec.json.decode(data, type=Snapshot)
    except msgspec.ValidationError as error:
        raise UsageError(f"expected a snapshot of a conversation: {error}") from None
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(data), Snapshot)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"expected a snapshot of a conversation: {error}") from None
