"""Frames as server-sent events, each with the id from which a client can resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace.events import Record
from headrace.messages import Message
from headrace.projections.registry import DEFAULT_PROTOCOL, PROTOCOLS, find_protocol

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
    if not all(map(_is_number, numbers)):
        return None
    return FrameId(int(numbers[0]), int(numbers[1]))


class SeenFrame(msgspec.Struct, frozen=True, gc=False):
    """The last frame that a client has received, as its `Last-Event-ID` says."""

    id: FrameId
    protocol: str | None = None
    """The protocol in which it was sent. None if the id names none: it is then an id of the default
    protocol, or one that an older server has sent in any protocol."""
    epoch: int | None = None
    """The epoch of the record that the frame was made from; None if it does not matter."""


NOTHING_SEEN = SeenFrame(START)
"""A client that has received no frame."""


def parse_seen_frame(text: str) -> SeenFrame | None:
    """Parse a `Last-Event-ID`, such as `12.1`, `12.1-thinking` or, after the run was taken over
    twice, `12.1.2`. Return None if it is malformed."""
    numbers, dash, protocol = text.strip().partition("-")
    position, epoch = numbers, "0"
    if numbers.count(".") == 2:
        position, _, epoch = numbers.rpartition(".")
    frame_id = parse_frame_id(position)
    if frame_id is None or not _is_number(epoch) or (dash and protocol not in PROTOCOLS):
        return None
    return SeenFrame(frame_id, protocol if dash else None, int(epoch))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


class View(msgspec.Struct, frozen=True):
    """How a client reads a run: the protocol, and its options."""

    protocol: str
    options: tuple[tuple[str, Any], ...] = ()
    """The options that the client has set, sorted by name."""


class FrameEncoder:
    """Turns the records of one run into server-sent events of one protocol.

    The same records always give the same bytes. `message` returns the message as far as it is
    known, if the caller has it, so that it is not folded twice. `options` are those of the
    protocol's projection.
    """

    __slots__ = ("_encode", "_frame_type", "_project", "_suffix")

    def __init__(
        self,
        protocol: str,
        event_id: str,
        message: Callable[[], Message] | None = None,
        **options: Any,
    ) -> None:
        info = find_protocol(protocol)
        package = info.load()
        self._project = package.create_projection(event_id, message, **options).feed
        self._encode = package.encode_frame
        self._suffix = _id_suffix(protocol)
        self._frame_type = package.frame_type if info.names_events else None

    def feed(self, record: Record) -> list[bytes]:
        """Return the events of one record, ready to be sent."""
        if self._frame_type is not None:
            return self._feed_named(record, self._frame_type)
        seq, encode = record.seq, self._encode
        suffix = self._suffix_of(record) if record.epoch else self._suffix
        frames = self._project(record)
        if len(frames) == 1:
            # Nearly every record is a delta.
            return [_format(seq, 1, encode(frames[0]), suffix)]
        return [_format(seq, place, encode(frame), suffix) for place, frame in enumerate(frames, 1)]

    def _feed_named(self, record: Record, frame_type: Callable[[Any], str]) -> list[bytes]:
        """Return the events of one record, each with its type in the `event:` line."""
        seq, encode, suffix = record.seq, self._encode, self._suffix_of(record)
        return [
            _format(
                seq,
                place,
                encode(frame),
                b"%b\nevent: %b" % (suffix, frame_type(frame).encode()),
            )
            for place, frame in enumerate(self._project(record), 1)
        ]

    def _suffix_of(self, record: Record) -> bytes:
        """Return what follows the position in an id. After the run was taken over, that begins with
        the epoch: the log may have lost records that clients have seen, and others have their
        numbers now."""
        return b".%d%b" % (record.epoch, self._suffix) if record.epoch else self._suffix


def _id_suffix(protocol: str) -> bytes:
    """Return what follows the numbers in an id: the protocol, because the position in a record
    means nothing in another one. The default protocol needs no name."""
    return b"" if protocol == DEFAULT_PROTOCOL else b"-" + protocol.encode()


def frame_id_of(event: bytes) -> FrameId:
    """Return the id of an event that `sse()` has made."""
    numbers = event[len(_ID) : event.index(b"\n")].partition(b"-")[0]
    seq, place = numbers.split(b".")[:2]
    return FrameId(int(seq), int(place))


_ID = b"id: "


def sse(frame_id: FrameId, payload: bytes, suffix: bytes = b"") -> bytes:
    """Format one event; `suffix` is the end of its id. Line ends in the payload become several
    `data:` lines of that event."""
    return _format(frame_id.seq, frame_id.place, payload, suffix)


def _format(seq: int, place: int, payload: bytes, suffix: bytes) -> bytes:
    if b"\n" in payload or b"\r" in payload:
        payload = payload.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        payload = b"\ndata: ".join(payload.split(b"\n"))
    return b"id: %d.%d%b\ndata: %b\n\n" % (seq, place, suffix, payload)
