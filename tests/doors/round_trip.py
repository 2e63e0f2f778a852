"""Sends a stream through the protocol of a door, and reads it again with our own decoder."""

from __future__ import annotations

from typing import Any

from headrace.events import Record, TurnEvent
from headrace.projections.registry import find_protocol
from headrace.wire.dialects.chat.quirks import ChatQuirks
from tests.wire import events_of

# Text that looks like a tag is text here: the reasoning has a field of its own.
_OPTIONS: dict[str, dict[str, Any]] = {
    "openai-chat": {"dialect": "chat", "quirks": ChatQuirks(think_tags=())},
    "anthropic-messages": {"dialect": "anthropic"},
}


def to_records(events: list[TurnEvent]) -> list[Record]:
    """Number the events of a turn."""
    return [Record(seq, seq * 37, event) for seq, event in enumerate(events, 1)]


def project(protocol: str, records: list[Record], **options: Any) -> list[Any]:
    """Return all frames of a run."""
    projection = find_protocol(protocol).load().create_projection(None, None, **options)
    return [f for record in records for f in projection.feed(record)] + projection.close()


def to_bytes(protocol: str, frames: list[Any]) -> bytes:
    """Return frames as a stream."""
    info = find_protocol(protocol)
    package = info.load()
    events = [
        (b"event: %b\n" % package.frame_type(f).encode() if info.names_events else b"")
        + b"data: %b\n\n" % package.encode_frame(f)
        for f in frames
    ]
    return b"".join(events)


def read_again(protocol: str, data: bytes) -> list[TurnEvent]:
    """Decode a stream of a door."""
    return events_of(data, **_OPTIONS[protocol])
