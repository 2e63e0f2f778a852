"""Transports: a call goes out, reads of bytes come back. Nothing here knows a dialect.

`headrace.transport.http` needs the extra `http`, so it is imported by its own name.
"""

from __future__ import annotations

from headrace.transport.broken import StreamBroken
from headrace.transport.byte_stream import ByteStream, HTTPCall, Transport
from headrace.transport.limits import HTTPLimits, Timeouts
from headrace.transport.open_turn import OpenTurn, open_turn, read_turn
from headrace.transport.record import RecordingTransport
from headrace.transport.replay import ReplayTransport
from headrace.transport.retry import NEVER, RetryPolicy, retried
from headrace.transport.sync import LoopThread, shared_loop

__all__ = [
    "NEVER",
    "ByteStream",
    "HTTPCall",
    "HTTPLimits",
    "LoopThread",
    "OpenTurn",
    "RecordingTransport",
    "ReplayTransport",
    "RetryPolicy",
    "StreamBroken",
    "Timeouts",
    "Transport",
    "open_turn",
    "read_turn",
    "retried",
    "shared_loop",
]
