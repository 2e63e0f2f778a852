"""Prints the frames of a protocol (`--as`), as rows or as payloads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from headrace.cli.commands.decode.protocol import FrameStyle, frame_style
from headrace.cli.terminal.color import Paint, Style
from headrace.cli.terminal.safe_text import fit
from headrace.events import Record
from headrace.projections.registry import PROTOCOLS, Projection

_TIME_COLUMNS = len("   0.000  ")
_MIN_COLUMNS = 20


class Show(Protocol):
    """Formats one frame."""

    def begin(self, file: str, framing: str) -> list[str]:
        """Return the lines above the frames of a file."""
        ...

    def line(self, frame: Any, at_ms: int, file: str) -> str:
        """Return the line of one frame."""
        ...


class FramePrinter:
    """Prints frames as they arise, file by file."""

    def __init__(self, create_projection: Callable[[], Projection], show: Show) -> None:
        self._create_projection = create_projection
        self._show = show
        self._file = ""
        self._at_ms = 0
        self._projection = create_projection()

    def begin(self, file: str, framing: str) -> None:
        self._file, self._at_ms = file, 0
        self._projection = self._create_projection()
        for line in self._show.begin(file, framing):
            _write(line)

    def feed(self, record: Record) -> None:
        self._at_ms = record.at_ms
        self._print(self._projection.feed(record))

    def close(self) -> None:
        self._print(self._projection.close())

    def _print(self, frames: list[Any]) -> None:
        for frame in frames:
            _write(self._show.line(frame, self._at_ms, self._file))


class FrameRows:
    """Formats a frame as a row: time, type and fields."""

    def __init__(self, protocol: str, columns: int, paint: Paint, *, is_several: bool) -> None:
        self._frame_type = PROTOCOLS[protocol].load().frame_type
        self._style = frame_style(protocol)
        self._columns = columns
        self._is_several = is_several
        self._files = 0
        self._paint = paint

    def begin(self, file: str, framing: str) -> list[str]:
        header = self._paint(f"{'time s':>8}  frame", Style.DIM)
        gap = [""] if self._files else []
        self._files += 1
        if not self._is_several:
            return [header]
        heading = fit(f"── {file} ({framing})", self._columns)
        return [*gap, self._paint(heading, Style.BOLD), header]

    def line(self, frame: Any, at_ms: int, file: str) -> str:
        style = self._style
        kind = self._frame_type(frame)
        name = f"{kind:<{style.name_columns}}"
        width = max(self._columns - _TIME_COLUMNS - len(name) - 2, _MIN_COLUMNS)
        words = fit(_words(frame, style), width)
        left = self._paint(f"{at_ms / 1000:8.3f}", Style.DIM)
        said = f"{name}  {words}".rstrip()
        return f"{left}  {self._paint(said, style.styles.get(kind, Style.PLAIN))}"


class FrameLines:
    """Formats a frame as its payload, with the file name if there are several."""

    def __init__(self, encode: Callable[[Any], bytes], *, is_several: bool) -> None:
        self._encode = encode
        self._is_several = is_several

    def begin(self, file: str, framing: str) -> list[str]:
        return []

    def line(self, frame: Any, at_ms: int, file: str) -> str:
        payload = self._encode(frame)
        if not self._is_several:
            return payload.decode()
        is_json = payload.startswith(b"{")
        value = msgspec.Raw(payload) if is_json else payload.decode()
        return msgspec.json.encode({"file": file, "frame": value}).decode()


def _words(frame: Any, style: FrameStyle) -> str:
    fields: dict[str, Any] = msgspec.to_builtins(frame)
    said = [str(fields.pop(name)) for name in style.first if name in fields]
    for name in ("type", *style.hidden):
        fields.pop(name, None)
    facts = [f"{name} {_short(value)}" for name, value in fields.items()]
    return " · ".join([*said, *facts])


def _short(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _write(line: str) -> None:
    write: Callable[[bytes], object] = sys.stdout.buffer.write
    write(line.encode() + b"\n")
