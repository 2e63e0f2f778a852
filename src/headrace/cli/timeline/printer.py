"""Prints timelines on standard output, or writes one as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from headrace.cli.sources.source import STDIN
from headrace.cli.terminal.output import Paint, print_lines
from headrace.cli.terminal.record_table import Table
from headrace.cli.timeline.svg import timeline_svg
from headrace.cli.timeline.text import MAX_COLUMNS, MIN_COLUMNS, timeline_lines
from headrace.errors import InputError
from headrace.events import Record
from headrace.timeline.timeline import Timeline, TimelineReader


class TimelinePrinter:
    """Draws the timeline of a file when it has ended."""

    def __init__(self, out: TextIO, columns: int, paint: Paint, *, is_several: bool) -> None:
        self._out = out
        self._columns = min(max(columns, MIN_COLUMNS), MAX_COLUMNS)
        self._paint = paint
        self._is_several = is_several
        self._files = 0
        self._reader = TimelineReader()

    def begin(self, file: str, framing: str) -> None:
        self._reader = TimelineReader()
        if self._is_several:
            heading = Table(self._columns, self._paint).heading(file, framing)
            print_lines(*([""] if self._files else []), heading, "", out=self._out)
        self._files += 1

    def feed(self, record: Record) -> None:
        self._reader.feed(record)

    def close(self) -> None:
        self._reader.close()
        print_timeline(self._reader.timeline(), self._out, self._columns, self._paint)


class PicturePrinter:
    """Writes the timeline of a single file as a picture."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._reader = TimelineReader()

    def begin(self, file: str, framing: str) -> None:
        pass

    def feed(self, record: Record) -> None:
        self._reader.feed(record)

    def close(self) -> None:
        self._reader.close()
        write_picture(self._reader.timeline(), self._target)


def print_timeline(told: Timeline, out: TextIO, columns: int, paint: Paint) -> None:
    """Print the timeline, with symbols that `out` can encode."""
    columns = min(max(columns, MIN_COLUMNS), MAX_COLUMNS)
    print_lines(*timeline_lines(told, columns, paint), out=out)


def write_picture(told: Timeline, target: str) -> None:
    """Write the picture to a file or to standard output. Raises `InputError` if that fails."""
    picture = timeline_svg(told).encode()
    if target == STDIN:
        sys.stdout.buffer.write(picture)
        return
    try:
        Path(target).write_bytes(picture)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from None
