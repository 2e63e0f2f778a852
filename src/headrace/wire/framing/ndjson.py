"""The framing of newline-delimited JSON: one payload per line, and nothing else."""

from __future__ import annotations

from headrace.errors import LimitExceeded
from headrace.wire.framing.frame import Frame
from headrace.wire.framing.splitter import CR, LF, LineSplitter
from headrace.wire.framing.stray_lines import StrayLines
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_BRACE = ord("{")


class NDJSONFraming:
    """One frame per line that is not blank; a line may end in LF, CRLF or CR. A line that is only
    an opening bracket begins a payload over several lines, as servers send it that do not stream.

    A last line without an end may be cut off or complete, which only its reader can tell: it is in
    `unfinished` after `close()`.
    """

    def __init__(self, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        self.unfinished: Frame | None = None
        self.single_event = ""
        self._lines = LineSplitter(limits)
        self._is_between_lines = False
        self._payload = StrayLines(limits.max_frame_bytes)
        self._max_frame_bytes = limits.max_frame_bytes
        self._max_whole_bytes = min(limits.max_line_bytes, limits.max_frame_bytes)

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read and return a frame for each line it completed.

        Raises `LimitExceeded` for `max_line_bytes` and `max_frame_bytes`.
        """
        payload = self.cut_single(data)
        if payload is not None:
            return [Frame(payload)]
        frames: list[Frame] = []
        try:
            for line in self._lines.feed(data):
                self._take(line, frames)
        except LimitExceeded as error:
            self._lines.hold(error)
        if not frames:
            self._lines.raise_held()
        self._is_between_lines = self._lines.is_empty and not self._payload.is_open
        return frames

    def cut_single(self, data: bytes) -> bytes | None:
        """Return the payload if the read is exactly one line with a JSON object: servers send one
        line per read. Otherwise return None and change nothing."""
        if self._is_between_lines and len(data) > 2 and data[0] == _BRACE and data[-1] == LF:
            line = data[:-1]
            if LF not in line and CR not in line and len(data) <= self._max_whole_bytes:
                return line
        return None

    def _take(self, line: bytes, frames: list[Frame]) -> None:
        if self._payload.is_open or line in (b"{", b"["):
            payload = self._payload.feed(line)
            if payload is not None:
                frames.append(Frame(payload))
        elif len(line) > self._max_frame_bytes:
            raise LimitExceeded("max_frame_bytes", self._max_frame_bytes)
        elif line and not line.isspace():
            frames.append(Frame(line))

    def close(self) -> list[Frame]:
        """Take the end of the bytes; a line without an end is in `unfinished`."""
        frames: list[Frame] = []
        rest = self._lines.close()
        if self._payload.is_open:
            self._take(rest, frames)
            rest = self._payload.close()
        if len(rest) > self._max_frame_bytes:
            raise LimitExceeded("max_frame_bytes", self._max_frame_bytes)
        if rest.strip():
            self.unfinished = Frame(rest)
        return frames
