"""Messages of AWS event streams, as tests write them."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import msgspec


def aws_message(payload: bytes = b"", headers: bytes = b"") -> bytes:
    """A message with headers that are encoded already."""
    prelude = (16 + len(headers) + len(payload)).to_bytes(4, "big") + len(headers).to_bytes(
        4, "big"
    )
    whole = prelude + zlib.crc32(prelude).to_bytes(4, "big") + headers + payload
    return whole + zlib.crc32(whole).to_bytes(4, "big")


def aws_header(name: str, value: bytes | str, kind: int = 7) -> bytes:
    """A header; a text is encoded as a string, bytes are the value as it is on the wire."""
    if isinstance(value, str):
        value = len(value.encode()).to_bytes(2, "big") + value.encode()
    return bytes([len(name.encode())]) + name.encode() + bytes([kind]) + value


def aws_headers(**headers: str) -> bytes:
    """Headers whose names begin with a colon."""
    pairs = {":" + name.replace("_", "-"): value for name, value in headers.items()}
    return b"".join(aws_header(name, value) for name, value in pairs.items())


def aws_event(kind: str, payload: Any) -> bytes:
    """An event with a JSON payload."""
    headers = aws_headers(event_type=kind, content_type="application/json", message_type="event")
    return aws_message(msgspec.json.encode(payload), headers)


def aws_events(*payloads: dict[str, Any]) -> bytes:
    """Events that are written as objects with one field, the name of the event."""
    pairs = [pair for payload in payloads for pair in payload.items()]
    return b"".join(aws_event(kind, payload) for kind, payload in pairs)


def aws_chunks(*payloads: Any) -> bytes:
    """Messages of InvokeModel: JSON payloads in base64."""
    wrapped = [base64.b64encode(msgspec.json.encode(payload)).decode() for payload in payloads]
    return b"".join(aws_event("chunk", {"bytes": data, "p": "abc"}) for data in wrapped)


def aws_exception(kind: str, payload: bytes) -> bytes:
    return aws_message(payload, aws_headers(exception_type=kind, message_type="exception"))
