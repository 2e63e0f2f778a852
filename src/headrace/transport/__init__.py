"""Transports: send a provider call and receive its response as reads of bytes.

Transports do not interpret the bytes. `headrace.transport.http` needs the extra `http`, so it is
not imported here.
"""

from __future__ import annotations

from headrace.transport.limits import HTTPLimits, Timeouts
from headrace.transport.loop_thread import LoopThread, shared_loop
from headrace.transport.retry import NEVER, RetryPolicy, retry
from headrace.transport.stream_error import StreamBroken
from headrace.transport.transport import ByteStream, HTTPCall, Transport

__all__ = [
    "NEVER",
    "ByteStream",
    "HTTPCall",
    "HTTPLimits",
    "LoopThread",
    "RetryPolicy",
    "StreamBroken",
    "Timeouts",
    "Transport",
    "retry",
    "shared_loop",
]
