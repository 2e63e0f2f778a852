"""Frames on the wire: server-sent events, each with the id that a client resumes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from headrace.events import Record

HEARTBEAT = b": \n\n"
"""A comment: it keeps a connection open, and is no event."""


class FrameId(msgspec.Struct, frozen=True, order=True, gc=False):
    """The number of a record, and that of the frame in it."""

    seq: int
    place: int

    def __str__(self) -> str:
        return f"{self.seq}.{self.place}"


START = FrameId(0, 0)


def frame_id(text: str) -> FrameId | None:
    """What a client says it has seen last; None where that is no id of ours."""
    seq, dot, place = text.strip().partition(".")
    numbers = (seq, place if dot else "0")
    if not all(part.isascii() and part.isdigit() and len(part) < 19 for part in numbers):
        return None
    return FrameId(int(numbers[0]), int(numbers[1]))


class Projection(Protocol):
    """Records in, frames out."""

    def feed(self, record: Record) -> list[Any]:
        """The frames of one record."""
        ...


class Encoding:
    """One protocol of one run: the same records give the same bytes, whenever."""

    def __init__(self, projection: Projection, encode: Callable[[Any], bytes]) -> None:
        self._projection = projection
        self._encode = encode

    def feed(self, record: Record) -> list[bytes]:
        """The frames of a record, ready to be sent."""
        seq, encode = record.seq, self._encode
        return [
            sse(FrameId(seq, place), encode(frame))
            for place, frame in enumerate(self._projection.feed(record), 1)
        ]


def number_of(frame: bytes) -> FrameId:
    """The id that a frame of ours carries."""
    seq, _, place = frame[len(_ID) : frame.index(b"\n")].partition(b".")
    return FrameId(int(seq), int(place))


_ID = b"id: "


def sse(number: FrameId, payload: bytes) -> bytes:
    """One event. A payload is JSON or a word, so it has no line end of its own; one that had
    would become several lines of the same event, and never another event."""
    if b"\n" in payload or b"\r" in payload:
        payload = payload.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        payload = b"\ndata: ".join(payload.split(b"\n"))
    return b"id: %d.%d\ndata: %b\n\n" % (number.seq, number.place, payload)
