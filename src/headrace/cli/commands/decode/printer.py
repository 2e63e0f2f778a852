"""Prints the records of each file in the chosen format.

A printer has `begin()` for a file, `feed()` for a record and `close()` for its end. JSON is UTF-8
in any terminal, so printers write bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from headrace.cli.commands.decode.result import result_row
from headrace.cli.terminal.output import Paint, terminal_columns, wants_color
from headrace.cli.terminal.record_table import Table
from headrace.events import Record, encode_record
from headrace.messages import Message, fold, fold_candidates

_PIPE_COLUMNS = 100


class Printer(Protocol):
    """Prints one file after another."""

    def begin(self, file: str, framing: str) -> None:
        """Start a file that is known to be a stream."""
        ...

    def feed(self, record: Record) -> None:
        """Print the next record."""
        ...

    def close(self) -> None:
        """End the file."""
        ...


class TablePrinter:
    """Prints one row per record."""

    def __init__(self, table: Table, *, is_several: bool) -> None:
        self._table = table
        self._is_several = is_several
        self._files = 0

    def begin(self, file: str, framing: str) -> None:
        if self._is_several:
            heading = ("\n" if self._files else "") + self._table.heading(file, framing)
            _write(heading.encode())
        _write(self._table.header().encode())
        self._files += 1

    def feed(self, record: Record) -> None:
        _write(self._table.row(record).encode())

    def close(self) -> None:
        pass


class EventsPrinter:
    """Prints one JSON line per record, with the file name if there are several."""

    def __init__(self, *, is_several: bool) -> None:
        self._is_several = is_several
        self._file = ""

    def begin(self, file: str, framing: str) -> None:
        self._file = file

    def feed(self, record: Record) -> None:
        line = encode_record(record)
        if self._is_several:
            line = msgspec.json.encode({"file": self._file, "record": msgspec.Raw(line)})
        _write(line)

    def close(self) -> None:
        pass


class FoldPrinter:
    """Collects the records of a file and prints what they fold to."""

    def __init__(self, show: Callable[[str, list[Record]], bytes]) -> None:
        self._show = show
        self._file = ""
        self._records: list[Record] = []

    def begin(self, file: str, framing: str) -> None:
        self._file, self._records = file, []

    def feed(self, record: Record) -> None:
        self._records.append(record)

    def close(self) -> None:
        _write(self._show(self._file, self._records))


def printer_for(form: str, color: str, *, is_several: bool, svg: str | None = None) -> Printer:
    """Return the printer of a format for standard output; a picture goes to the file `svg`."""
    match form:
        case "table":
            paint = Paint(wants_color(color, sys.stdout))
            table = Table(terminal_columns(sys.stdout, _PIPE_COLUMNS), paint)
            return TablePrinter(table, is_several=is_several)
        case "events":
            return EventsPrinter(is_several=is_several)
        case "message":
            return FoldPrinter(_message_line if is_several else _pretty_message)
        case "timeline":
            return _timeline_printer(color, is_several=is_several, svg=svg)
        case _:
            return FoldPrinter(_result_line)


def frame_printer(name: str, form: str, color: str, *, is_several: bool) -> Printer:
    """Return the printer of `--as name`: rows, or payloads."""
    from headrace.cli.commands.decode.frame_printer import FrameLines, FrameRows

    if form == "events":
        return FrameLines(name, is_several=is_several)
    paint = Paint(wants_color(color, sys.stdout))
    columns = terminal_columns(sys.stdout, _PIPE_COLUMNS)
    return FrameRows(name, columns, paint, is_several=is_several)


def _timeline_printer(color: str, *, is_several: bool, svg: str | None) -> Printer:
    from headrace.cli.timeline.printer import PicturePrinter, TimelinePrinter

    if svg is not None:
        return PicturePrinter(svg)
    paint = Paint(wants_color(color, sys.stdout))
    columns = terminal_columns(sys.stdout)
    return TimelinePrinter(sys.stdout, columns, paint, is_several=is_several)


def _message_line(file: str, records: list[Record]) -> bytes:
    row: dict[str, str | Message] = {"file": file, "message": fold(records)}
    return msgspec.json.encode(row)


def _pretty_message(file: str, records: list[Record]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(fold(records)), indent=2)


def _result_line(file: str, records: list[Record]) -> bytes:
    row: dict[str, Any] = result_row(file, fold(records), fold_candidates(records))
    return msgspec.json.encode(row)


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
