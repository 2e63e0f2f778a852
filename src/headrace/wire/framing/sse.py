"""The framing of server-sent events, as the WHATWG standard defines them.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.errors import LimitExceeded
from headrace.wire.framing.frame import STRAY, Frame
from headrace.wire.framing.splitter import CR, LF, LineSplitter
from headrace.wire.framing.stray_lines import StrayLines
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_MAX_CACHED_EVENTS = 64
_MAX_CACHED_LINE_BYTES = 64
# More digits are no time to wait: 10**15 ms are thirty thousand years. Browsers that
# read the number into 64 bits ignore a longer one too.
_MAX_RETRY_DIGITS = 15

# A read of many events is split piece by piece: the lines of a large one, all at once,
# would take several times its size, and fall out of the processor's cache (measured: a third
# of the time).
_PIECE_BYTES = 64 * 1024


class SSEFraming:
    """One frame per dispatched event.

    `extra_fields` names fields outside the standard whose line is a frame of its own, at once
    (llama.cpp sends `error: {…}`); other unknown fields are ignored, as the standard demands.
    With `keeps_stray_lines`, lines that are JSON or HTML instead of a field are frames too, whose
    `field` is empty. `last_event_id` and `retry_ms` are what a client needs to reconnect.
    """

    __slots__ = (
        "_data", "_event", "_events", "_extra_fields", "_frame_retry_ms", "_has_stray", "_head",
        "_head_bytes", "_id", "_is_between_events", "_lines", "_max_frame_bytes",
        "_max_whole_bytes", "_strays", "last_event_id", "retry_ms", "single_event", "unfinished",
    )  # fmt: skip

    def __init__(
        self,
        limits: WireLimits = DEFAULT_WIRE_LIMITS,
        *,
        extra_fields: Iterable[str] = (),
        keeps_stray_lines: bool = False,
    ) -> None:
        self.unfinished: Frame | None = None
        self.last_event_id = ""
        self.retry_ms: int | None = None
        self._lines = LineSplitter(limits)
        self._extra_fields = {name.encode(): name for name in extra_fields}
        self._max_frame_bytes = limits.max_frame_bytes
        self._strays = StrayLines(limits.max_frame_bytes) if keeps_stray_lines else None
        self._has_stray = False
        self._max_whole_bytes = min(limits.max_line_bytes, limits.max_frame_bytes)
        # Whole `event:` lines, as the few names of a dialect come again and again.
        self._events: dict[bytes, str] = {}
        self._is_between_events = False
        # What the last event began with, up to its payload, and its name.
        self._head = b"data: "
        self._head_bytes = len(self._head)
        self.single_event = ""
        # One data line is the rule and stays as it was cut; the second makes a buffer.
        self._data: bytes | bytearray | None = None
        self._event = ""
        self._id = ""
        self._frame_retry_ms: int | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read and return the frames it completed.

        Raises `LimitExceeded` for `max_line_bytes` and `max_frame_bytes`.
        """
        payload = self.cut_single(data)
        if payload is not None:
            return [Frame(payload, self.single_event, "data", self._id)]
        self._is_between_events = False
        if len(data) > _PIECE_BYTES:
            return self._feed_in_pieces(data)
        lines = self._lines.feed(data)
        return self._take(lines) if lines else []

    def cut_single(self, data: bytes) -> bytes | None:
        """Return the payload if the read is exactly one event that begins as the one before did:
        providers send one event per read. Otherwise return None and change nothing."""
        if (
            not self._is_between_events
            or not data.startswith(self._head)
            or len(data) > self._max_whole_bytes
        ):
            return None
        if data.endswith(b"\n\n"):
            payload = data[self._head_bytes : -2]
        elif data.endswith(b"\r\n\r\n"):
            payload = data[self._head_bytes : -4]
        else:
            return None
        return None if LF in payload or CR in payload else payload

    def close(self) -> list[Frame]:
        """Take the end of the bytes. The standard discards an event without its blank line; if it
        had data, it is in `unfinished`."""
        frames: list[Frame] = []
        line = self._lines.close()
        strays = self._strays
        if strays is not None and line and not self._has_payload(line):
            self._take_stray(strays, line, frames)
            line = b""
        if strays is not None and self._has_stray:
            frames.append(Frame(strays.close(), "", STRAY, self._id))
        self._take_rest(line)
        return frames

    def _feed_in_pieces(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        try:
            for start in range(0, len(data), _PIECE_BYTES):
                frames += self.feed(data[start : start + _PIECE_BYTES])
        except LimitExceeded as error:
            self._lines.hold(error)
        if not frames:
            self._lines.raise_held()
        return frames

    def _take(self, lines: list[bytes]) -> list[Frame]:
        frames: list[Frame] = []
        events = self._events
        max_bytes = self._max_whole_bytes
        try:
            for line in lines:
                if not line:
                    self._dispatch(frames)
                elif line[:6] == b"data: " and self._data is None and len(line) <= max_bytes:
                    self._data = line[6:]
                elif line in events:
                    self._event = events[line]
                    self._remember_head(line)
                else:
                    self._take_field(line, frames)
        except LimitExceeded as error:
            self._lines.hold(error)
        if not frames:
            self._lines.raise_held()
        self._is_between_events = not lines[-1] and self._lines.is_empty and not self._has_stray
        return frames

    def _remember_head(self, line: bytes) -> None:
        if self._event != "error":
            self._head = line + b"\ndata: "
            self._head_bytes = len(self._head)
            self.single_event = self._event

    def _dispatch(self, frames: list[Frame]) -> None:
        data = self._data
        if self._has_stray:
            self._end_stray(frames)
        if data is not None:
            frames.append(self._create_frame(data if type(data) is bytes else bytes(data)))
            self._data = None
        self.last_event_id = self._id
        self._event = ""
        self._frame_retry_ms = None

    def _create_frame(self, data: bytes) -> Frame:
        return Frame(data, self._event, "data", self._id, self._frame_retry_ms)

    def _add_data(self, value: bytes) -> None:
        data = self._data
        size = len(value) if data is None else len(data) + 1 + len(value)
        if size > self._max_frame_bytes:
            raise LimitExceeded("max_frame_bytes", self._max_frame_bytes)
        if data is None:
            self._data = value
            return
        if not isinstance(data, bytearray):
            data = self._data = bytearray(data)
        data += b"\n"
        data += value

    def _take_field(self, line: bytes, frames: list[Frame]) -> None:
        name, value = _split_field(line)
        if name == b"data":
            self._add_data(value)
        elif name == b"event":
            self._event = self._cache_event(line, value.decode("utf-8", "replace"))
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry":
            self._take_retry(value)
        elif name in self._extra_fields:
            frames.append(self._create_extra_frame(name, value))
        elif name and self._strays is not None:
            self._take_stray(self._strays, line, frames)

    def _take_stray(self, strays: StrayLines, line: bytes, frames: list[Frame]) -> None:
        if not strays.is_open and not strays.begins(line):
            return
        if self._data is not None:
            # A payload without its own field follows: what came before it is complete.
            frames.append(self._create_frame(bytes(self._data)))
            self._data = None
        payload = strays.feed(line)
        self._has_stray = payload is None
        if payload is not None:
            frames.append(Frame(payload, self._event, STRAY, self._id))

    def _end_stray(self, frames: list[Frame]) -> None:
        """End a payload of stray lines at a blank line. A web page has blank lines itself: it ends
        when an event has come after it."""
        strays = self._strays
        if strays is not None and (strays.is_json or self._data is not None):
            frames.append(Frame(strays.close(), "", STRAY, self._id))
            self._has_stray = False

    def _cache_event(self, line: bytes, event: str) -> str:
        if len(self._events) < _MAX_CACHED_EVENTS and len(line) <= _MAX_CACHED_LINE_BYTES:
            self._events[line] = event
        return event

    def _take_retry(self, value: bytes) -> None:
        if value.isdigit() and len(value.lstrip(b"0")) <= _MAX_RETRY_DIGITS:
            self.retry_ms = self._frame_retry_ms = int(value.lstrip(b"0") or b"0")

    def _create_extra_frame(self, name: bytes, value: bytes) -> Frame:
        if len(value) > self._max_frame_bytes:
            raise LimitExceeded("max_frame_bytes", self._max_frame_bytes)
        return Frame(value, self._event, self._extra_fields[name], self._id)

    def _has_payload(self, line: bytes) -> bool:
        """Return whether the line is a field that carries a payload."""
        return line.startswith(b"data:") or _split_field(line)[0] in self._extra_fields

    def _take_rest(self, line: bytes) -> None:
        """Take the line without an end only if it carries a payload: half of a number, name or id
        would be wrong."""
        name, value = _split_field(line)
        if name in self._extra_fields:
            self.unfinished = self._create_extra_frame(name, value)
            return
        if line.startswith(b"data:"):
            self._add_data(value)
        if self._data:
            self.unfinished = self._create_frame(bytes(self._data))


def _split_field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")
