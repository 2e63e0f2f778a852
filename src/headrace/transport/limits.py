"""The named limits of a transport: how long it waits, and how much it takes."""

from __future__ import annotations

import msgspec


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds."""

    connect_s: float = 10.0
    """For a connection: name lookup and TLS included."""
    first_event_s: float = 120.0
    """From the request to the first event. Keep-alive comments are no events."""
    idle_s: float = 60.0
    """For the next read of a stream that has begun. Keep-alive comments are reads."""


class HTTPLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is taken from a server that may mean harm."""

    max_error_bytes: int = 64 * 1024
    """What is read of an error's body; the rest is left."""
    max_inflated_bytes: int = 64 * 1024 * 1024
    """A compressed stream, inflated. We ask for none, so few will ever come."""


DEFAULT_TIMEOUTS = Timeouts()
DEFAULT_HTTP_LIMITS = HTTPLimits()
