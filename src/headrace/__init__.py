"""Headrace: the stream of a reasoning model, from provider bytes to pixels.

The names below are the public face. They are imported when they are first used, so that
`import headrace` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace import content, errors, events, messages
    from headrace.encoders import Options, ToolSpec
    from headrace.engine import Agent, Conversation, Middleware, tool
    from headrace.errors import (
        HeadraceError,
        LimitExceeded,
        RequestFailed,
        UsageError,
        WireError,
    )
    from headrace.events import Record, decode_record, encode_record
    from headrace.messages import Message, fold, fold_candidates, history
    from headrace.outcome import ErrorInfo, FinishReason
    from headrace.turn import TurnStream, complete, complete_async, stream
    from headrace.usage import Usage
    from headrace.wire.decode import decode, decode_async
    from headrace.wire.decoder import Decoder
    from headrace.wire.dialects.chat import ChatQuirks
    from headrace.wire.limits import WireLimits

    __version__: str

_HOMES = {
    "Agent": "headrace.engine",
    "ChatQuirks": "headrace.wire.dialects.chat",
    "Conversation": "headrace.engine",
    "Decoder": "headrace.wire.decoder",
    "ErrorInfo": "headrace.outcome",
    "FinishReason": "headrace.outcome",
    "HeadraceError": "headrace.errors",
    "LimitExceeded": "headrace.errors",
    "Message": "headrace.messages",
    "Middleware": "headrace.engine",
    "Options": "headrace.encoders",
    "Record": "headrace.events",
    "RequestFailed": "headrace.errors",
    "ToolSpec": "headrace.encoders",
    "TurnStream": "headrace.turn",
    "Usage": "headrace.usage",
    "UsageError": "headrace.errors",
    "WireError": "headrace.errors",
    "WireLimits": "headrace.wire.limits",
    "complete": "headrace.turn",
    "complete_async": "headrace.turn",
    "decode": "headrace.wire.decode",
    "decode_async": "headrace.wire.decode",
    "decode_record": "headrace.events",
    "encode_record": "headrace.events",
    "fold": "headrace.messages",
    "fold_candidates": "headrace.messages",
    "history": "headrace.messages",
    "stream": "headrace.turn",
    "tool": "headrace.engine",
}
_MODULES = ("content", "errors", "events", "messages")

__all__ = [
    "Agent",
    "ChatQuirks",
    "Conversation",
    "Decoder",
    "ErrorInfo",
    "FinishReason",
    "HeadraceError",
    "LimitExceeded",
    "Message",
    "Middleware",
    "Options",
    "Record",
    "RequestFailed",
    "ToolSpec",
    "TurnStream",
    "Usage",
    "UsageError",
    "WireError",
    "WireLimits",
    "__version__",
    "complete",
    "complete_async",
    "content",
    "decode",
    "decode_async",
    "decode_record",
    "encode_record",
    "errors",
    "events",
    "fold",
    "fold_candidates",
    "history",
    "messages",
    "stream",
    "tool",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        from importlib import metadata  # costs as much as msgspec, so only where it is asked for

        value: Any = metadata.version("headrace")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"headrace.{name}")
    else:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
