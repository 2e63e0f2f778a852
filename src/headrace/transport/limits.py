"""Timeouts and size limits of transports."""

from __future__ import annotations

import msgspec


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds."""

    connect_s: float = 10.0
    """For a connection, including name lookup and TLS."""
    first_event_s: float = 120.0
    """From the request to the first event. Keep-alive comments are not events."""
    idle_s: float = 60.0
    """For the next read of a stream that has begun. Keep-alive comments count as reads."""


class HTTPLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is read from a server that may be hostile."""

    max_error_bytes: int = 64 * 1024
    """How much of an error body is read."""
    max_body_bytes: int = 16 * 1024 * 1024
    """Size of a whole response that is no stream, such as a list of models."""
    max_inflated_bytes: int = 64 * 1024 * 1024
    """Size of a compressed stream after decompression."""


DEFAULT_TIMEOUTS = Timeouts()
DEFAULT_HTTP_LIMITS = HTTPLimits()
