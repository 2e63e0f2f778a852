"""`--as thinking`: the frames of the thinking vocabulary, as rows or as they go over the wire."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from headrace.cli.colour import Paint, Style
from headrace.cli.glyph import fitted
from headrace.events import Record
from headrace.projections.thinking import (
    EndOfFrames,
    ThinkingFrame,
    ThinkingProjection,
    encode_frame,
    frame_type,
)

_NAME_COLUMNS = len("artifact_complete")
_LEFT_COLUMNS = len("   0.000  ") + _NAME_COLUMNS + 2
_MIN_COLUMNS = 20
_STYLES = {
    "thinking_delta": Style.DIM,
    "status": Style.BOLD,
    "error": Style.RED,
    "cancelled": Style.YELLOW,
    "tool_call_start": Style.CYAN,
    "tool_result": Style.CYAN,
}
# The field that a row is about; the others follow as JSON.
_SAID = ("content", "description", "thinking", "message")


class Show(Protocol):
    """How one frame is written."""

    def begin(self, file: str, framing: str) -> list[str]:
        """The lines above the frames of a file."""
        ...

    def line(self, frame: ThinkingFrame, at_ms: int, file: str) -> str:
        """One frame; no line end."""
        ...


class ThinkingPrinter:
    """Frames at once, file after file."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._file = ""
        self._at_ms = 0
        self._projection = ThinkingProjection()

    def begin(self, file: str, framing: str) -> None:
        self._file, self._at_ms = file, 0
        self._projection = ThinkingProjection()
        for line in self._show.begin(file, framing):
            _write(line)

    def feed(self, record: Record) -> None:
        self._at_ms = record.at_ms
        self._print(self._projection.feed(record))

    def close(self) -> None:
        self._print(self._projection.close())

    def _print(self, frames: list[ThinkingFrame]) -> None:
        for frame in frames:
            _write(self._show.line(frame, self._at_ms, self._file))


class FrameRows:
    """A row a frame: when, what, and what it says."""

    def __init__(self, columns: int, paint: Paint, *, is_several: bool) -> None:
        self._columns = columns
        self._is_several = is_several
        self._files = 0
        self._width = max(columns - _LEFT_COLUMNS, _MIN_COLUMNS)
        self._paint = paint

    def begin(self, file: str, framing: str) -> list[str]:
        header = self._paint(f"{'time s':>8}  frame", Style.DIM)
        gap = [""] if self._files else []
        self._files += 1
        if not self._is_several:
            return [header]
        heading = fitted(f"── {file} ({framing})", self._columns)
        return [*gap, self._paint(heading, Style.BOLD), header]

    def line(self, frame: ThinkingFrame, at_ms: int, file: str) -> str:
        kind = frame_type(frame)
        words = fitted(_words(frame), self._width)
        left = self._paint(f"{at_ms / 1000:8.3f}", Style.DIM)
        said = f"{kind:<{_NAME_COLUMNS}}  {words}".rstrip()
        return f"{left}  {self._paint(said, _STYLES.get(kind, Style.PLAIN))}"


class FrameLines:
    """A line a frame: its payload, which names its file where there are several."""

    def __init__(self, *, is_several: bool) -> None:
        self._is_several = is_several

    def begin(self, file: str, framing: str) -> list[str]:
        return []

    def line(self, frame: ThinkingFrame, at_ms: int, file: str) -> str:
        payload = encode_frame(frame)
        if not self._is_several:
            return payload.decode()
        value = payload.decode() if isinstance(frame, EndOfFrames) else msgspec.Raw(payload)
        return msgspec.json.encode({"file": file, "frame": value}).decode()


def _words(frame: ThinkingFrame) -> str:
    if isinstance(frame, EndOfFrames):
        return ""
    fields: dict[str, Any] = msgspec.to_builtins(frame)
    said = [str(fields.pop(name)) for name in _SAID if name in fields]
    for name in ("type", "timestamp", "call_id"):
        fields.pop(name, None)
    facts = [f"{name} {_short(value)}" for name, value in fields.items()]
    return " · ".join([*said, *facts])


def _short(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _write(line: str) -> None:
    write: Callable[[bytes], object] = sys.stdout.buffer.write
    write(line.encode() + b"\n")
