"""Frames as server-sent events, each with the id from which a client can resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace.events import Record
from headrace.messages import Message
from headrace.projections.registry import PROTOCOLS

HEARTBEAT = b": \n\n"
"""A comment that keeps the connection open. It is not an event."""


class FrameId(msgspec.Struct, frozen=True, order=True, gc=False):
    """Identifies a frame of a run: the number of its record, and its position in that record."""

    seq: int
    place: int

    def __str__(self) -> str:
        return f"{self.seq}.{self.place}"


START = FrameId(0, 0)
"""Before the first frame."""


def parse_frame_id(text: str) -> FrameId | None:
    """Parse the `Last-Event-ID` of a client, such as `12.1`. Return None if it is malformed."""
    seq, dot, place = text.strip().partition(".")
    numbers = (seq, place if dot else "0")
    if not all(part.isascii() and part.isdigit() and len(part) < 19 for part in numbers):
        return None
    return FrameId(int(numbers[0]), int(numbers[1]))


class FrameEncoder:
    """Turns the records of one run into server-sent events of one protocol.

    The same records always give the same bytes. `message` returns the message as far as it is
    known, if the caller has it, so that it is not folded twice. `options` are those of the
    protocol's projection.
    """

    def __init__(
        self,
        protocol: str,
        event_id: str,
        message: Callable[[], Message] | None = None,
        **options: Any,
    ) -> None:
        package = PROTOCOLS[protocol].load()
        self._project = package.create_projection(event_id, message, **options).feed
        self._encode = package.encode_frame

    def feed(self, record: Record) -> list[bytes]:
        """Return the events of one record, ready to be sent."""
        seq, encode = record.seq, self._encode
        return [
            sse(FrameId(seq, place), encode(frame))
            for place, frame in enumerate(self._project(record), 1)
        ]


def frame_id_of(event: bytes) -> FrameId:
    """Return the id of an event that `sse()` has made."""
    seq, _, place = event[len(_ID) : event.index(b"\n")].partition(b".")
    return FrameId(int(seq), int(place))


_ID = b"id: "


def sse(frame_id: FrameId, payload: bytes) -> bytes:
    """Format one event. Line ends in the payload become several `data:` lines of that event."""
    if b"\n" in payload or b"\r" in payload:
        payload = payload.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        payload = b"\ndata: ".join(payload.split(b"\n"))
    return b"id: %d.%d\ndata: %b\n\n" % (frame_id.seq, frame_id.place, payload)
