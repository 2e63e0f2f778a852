"""Framings: cut a byte stream into frames, however the reads are cut.

A framing knows where a payload begins and ends, but nothing about its content. Each is a class with
`feed`, `close` and `unfinished` (see `frame.Framing`) that takes `WireLimits`.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import UsageError
from headrace.wire.framing.aws_event_stream import AWSEventStreamFraming
from headrace.wire.framing.frame import Frame, Framing
from headrace.wire.framing.grpc import GRPCFraming
from headrace.wire.framing.json_array import JSONArrayFraming
from headrace.wire.framing.line import LineFraming, SqueezedSSEFraming
from headrace.wire.framing.ndjson import NDJSONFraming
from headrace.wire.framing.nul import NULFraming
from headrace.wire.framing.sse import SSEFraming
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

__all__ = [
    "LINE_FRAMINGS",
    "FRAMINGS",
    "AWSEventStreamFraming",
    "Frame",
    "Framing",
    "GRPCFraming",
    "JSONArrayFraming",
    "LineFraming",
    "NDJSONFraming",
    "NULFraming",
    "SSEFraming",
    "SqueezedSSEFraming",
    "create_framing",
]

FRAMINGS: dict[str, Callable[..., Framing]] = {
    "sse": SSEFraming,
    "ndjson": NDJSONFraming,
    "json-array": JSONArrayFraming,
    "lines": LineFraming,
    "squeezed-sse": SqueezedSSEFraming,
    "grpc": GRPCFraming,
    "aws-event-stream": AWSEventStreamFraming,
    "nul-json": NULFraming,
}
"""The framings by the names that the catalog and the command line use."""

LINE_FRAMINGS = frozenset({"sse", "squeezed-sse", "ndjson", "lines"})
"""Framings whose frames end only where a line does."""

# llama.cpp reports errors in a field of its own, which the standard ignores.
_EXTRA_FIELDS = ("error",)
_SSE = ("sse", "squeezed-sse")
_WITH_FIELDS = ("lines",)


def create_framing(name: str, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> Framing:
    """Create a framing with the settings that streams of models need. Raises `UsageError` for an
    unknown name."""
    if name not in FRAMINGS:
        raise UsageError(f"no framing {name!r}: there are {', '.join(FRAMINGS)}")
    if name in _SSE:
        return FRAMINGS[name](limits, extra_fields=_EXTRA_FIELDS, keeps_stray_lines=True)
    if name in _WITH_FIELDS:
        return FRAMINGS[name](limits, extra_fields=_EXTRA_FIELDS)
    return FRAMINGS[name](limits)
