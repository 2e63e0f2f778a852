"""Prints the frames of a protocol (`--as`), as rows or as payloads."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from headrace.cli.terminal.output import Paint, Style
from headrace.cli.terminal.record_table import Table
from headrace.cli.terminal.safe_text import fit
from headrace.events import Record
from headrace.projections import ux
from headrace.projections.registry import PROTOCOLS

_TIME_COLUMNS = len("   0.000  ")
_MIN_COLUMNS = 20


@dataclass(frozen=True)
class FrameStyle:
    """How frames look in rows. A row begins with the fields `first`; the others follow as JSON,
    except those that are `hidden` because all rows would say the same."""

    name_columns: int = 24
    first: tuple[str, ...] = ("text", "content", "message", "name")
    hidden: tuple[str, ...] = ()
    styles: Mapping[str, Style] = field(default_factory=dict[str, Style])


_THINKING = FrameStyle(
    name_columns=len("artifact_complete"),
    first=("content", "description", "thinking", "message"),
    hidden=("timestamp", "call_id"),
    styles={
        "thinking_delta": Style.DIM,
        "status": Style.BOLD,
        "error": Style.RED,
        "cancelled": Style.YELLOW,
        "tool_call_start": Style.CYAN,
        "tool_result": Style.CYAN,
    },
)
_UX = FrameStyle(
    name_columns=len("reasoning_part_completed"),
    first=("text_delta", "text", "message", "name"),
    hidden=("event_id", "segment_id", "call_id", "created_at", "args_preview"),
    styles={
        "reasoning_part_delta": Style.DIM,
        "status": Style.BOLD,
        "message_error": Style.RED,
        "message_cancelled": Style.YELLOW,
        "step_discarded": Style.YELLOW,
        **dict.fromkeys(ux.TOOL_FRAME_TYPES, Style.CYAN),
    },
)
_STYLES = {"thinking": _THINKING, "ux": _UX}


def frame_style(protocol: str) -> FrameStyle:
    """Return how the frames of a protocol look; a plain style for one without its own."""
    return _STYLES.get(protocol, FrameStyle())


class FrameLines:
    """Prints frames as payloads, file by file, with the file name if there are several."""

    def __init__(self, protocol: str, *, is_several: bool) -> None:
        self._package = PROTOCOLS[protocol].load()
        self._is_several = is_several
        self._files = 0
        self._file = ""
        self._at_ms = 0
        self._projection = self._package.create_projection()

    def begin(self, file: str, framing: str) -> None:
        for line in self.header(file, framing):
            self._write(line)
        self._file, self._at_ms = file, 0
        self._files += 1
        self._projection = self._package.create_projection()

    def feed(self, record: Record) -> None:
        self._at_ms = record.at_ms
        self._print(self._projection.feed(record))

    def close(self) -> None:
        self._print(self._projection.close())

    def _print(self, frames: list[Any]) -> None:
        for frame in frames:
            self._write(self.line(frame, self._at_ms))

    def _write(self, line: str) -> None:
        sys.stdout.buffer.write(line.encode() + b"\n")

    def header(self, file: str, framing: str) -> list[str]:
        """Return the lines above the frames of a file."""
        return []

    def line(self, frame: Any, at_ms: int = 0) -> str:
        """Return the line of one frame."""
        payload = self._package.encode_frame(frame)
        if not self._is_several:
            return payload.decode()
        value = msgspec.Raw(payload) if payload.startswith(b"{") else payload.decode()
        return msgspec.json.encode({"file": self._file, "frame": value}).decode()


class FrameRows(FrameLines):
    """Prints frames as rows: time, type and fields."""

    def __init__(self, protocol: str, columns: int, paint: Paint, *, is_several: bool) -> None:
        super().__init__(protocol, is_several=is_several)
        self._style = frame_style(protocol)
        self._columns = columns
        self._paint = paint

    def header(self, file: str, framing: str) -> list[str]:
        header = self._paint(f"{'time s':>8}  frame", Style.DIM)
        if not self._is_several:
            return [header]
        heading = Table(self._columns, self._paint).heading(file, framing)
        return [*([""] if self._files else []), heading, header]

    def line(self, frame: Any, at_ms: int = 0) -> str:
        style = self._style
        kind = self._package.frame_type(frame)
        name = f"{kind:<{style.name_columns}}"
        width = max(self._columns - _TIME_COLUMNS - len(name) - 2, _MIN_COLUMNS)
        words = fit(_words(frame, style), width)
        left = self._paint(f"{at_ms / 1000:8.3f}", Style.DIM)
        said = f"{name}  {words}".rstrip()
        return f"{left}  {self._paint(said, style.styles.get(kind, Style.PLAIN))}"


def _words(frame: Any, style: FrameStyle) -> str:
    fields: dict[str, Any] = msgspec.to_builtins(frame)
    said = [str(fields.pop(name)) for name in style.first if name in fields]
    for name in ("type", *style.hidden):
        fields.pop(name, None)
    facts = [f"{name} {_short(value)}" for name, value in fields.items()]
    return " · ".join([*said, *facts])


def _short(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
