"""Framings: bytes in, frames out, however the bytes are cut.

A framing knows where a payload begins and ends and nothing of what is in it. Each is a
class with `feed`, `close` and `unfinished` (see `frame.Framing`) that takes `Limits`.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.wire.framing.frame import Frame, Framing
from headrace.wire.framing.json_array import JSONArrayFraming
from headrace.wire.framing.line import LineFraming
from headrace.wire.framing.ndjson import NDJSONFraming
from headrace.wire.framing.squeezed import SqueezedSSEFraming
from headrace.wire.framing.sse import SSEFraming

__all__ = [
    "FRAMINGS",
    "Frame",
    "Framing",
    "JSONArrayFraming",
    "LineFraming",
    "NDJSONFraming",
    "SSEFraming",
    "SqueezedSSEFraming",
]

FRAMINGS: dict[str, Callable[..., Framing]] = {
    "sse": SSEFraming,
    "ndjson": NDJSONFraming,
    "json-array": JSONArrayFraming,
    "lines": LineFraming,
    "squeezed-sse": SqueezedSSEFraming,
}
"""The framings by the names that the catalogue and the command line use."""
