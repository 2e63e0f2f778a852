"""Transports: a call goes out, reads of bytes come back. Nothing here knows a dialect.

`headrace.transport.http` needs the extra `http`, so it is imported by its own name.
"""

from __future__ import annotations

from headrace.transport.broken import StreamBroken
from headrace.transport.byte_stream import ByteStream, HTTPCall, Transport
from headrace.transport.limits import HTTPLimits, Timeouts
from headrace.transport.record import RecordingTransport
from headrace.transport.replay import ReplayTransport
from headrace.transport.retry import NEVER, RetryingTransport, RetryPolicy, retried
from headrace.transport.sync import LoopThread, shared_loop
from headrace.transport.turn import Turn, open_turn, read_turn

__all__ = [
    "NEVER",
    "ByteStream",
    "HTTPCall",
    "HTTPLimits",
    "LoopThread",
    "RecordingTransport",
    "ReplayTransport",
    "RetryPolicy",
    "RetryingTransport",
    "StreamBroken",
    "Timeouts",
    "Transport",
    "Turn",
    "open_turn",
    "read_turn",
    "retried",
    "shared_loop",
]
