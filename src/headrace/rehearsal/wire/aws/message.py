"""Writes messages of AWS event streams: headers that are strings, a payload, and checksums."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

_STRING = b"\7"


def write_event(kind: str, payload: Any) -> bytes:
    """Write an event with a JSON payload."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return _write_message(headers, msgspec.json.encode(payload))


def write_exception(kind: str, message: str) -> bytes:
    """Write an exception, which ends a stream."""
    headers = {":exception-type": kind, ":message-type": "exception"}
    return _write_message(headers, msgspec.json.encode({"message": message}))


def _write_message(headers: dict[str, str], payload: bytes) -> bytes:
    written = b"".join(_write_header(name, value) for name, value in headers.items())
    lengths = (16 + len(written) + len(payload), len(written))
    prelude = b"".join(length.to_bytes(4, "big") for length in lengths)
    whole = prelude + zlib.crc32(prelude).to_bytes(4, "big") + written + payload
    return whole + zlib.crc32(whole).to_bytes(4, "big")


def _write_header(name: str, value: str) -> bytes:
    name_bytes, value_bytes = name.encode(), value.encode()
    length = len(value_bytes).to_bytes(2, "big")
    return bytes([len(name_bytes)]) + name_bytes + _STRING + length + value_bytes
