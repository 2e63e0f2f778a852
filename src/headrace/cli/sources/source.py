"""Finds the files that were named, searches folders, and opens streams."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, NamedTuple

from headrace.cli.option import DEFAULT_RATE
from headrace.cli.sources import framing_guess
from headrace.cli.sources.dialect_guess import recognize
from headrace.cli.sources.reads import Read, arriving, chunks_of, pace_reads, recorded_reads
from headrace.errors import InputError, UsageError
from headrace.recording.file import READS_ENDING, Recording, load_recording

STDIN = "-"


class Wanted(NamedTuple):
    """What the user specified about the streams; None means detect it."""

    framing: str | None = None
    dialect: str | None = None
    rate: float | None = None


class Stream(NamedTuple):
    """An open source and its reads, to be read once.

    `is_live` if the reads arrive now. A `dialect` of None means a stream that only holds an error.
    """

    framing: str
    dialect: str | None
    reads: Iterator[Read]
    is_live: bool


def find_sources(names: Iterable[str]) -> list[str]:
    """Return the names as given, and for a folder the streams below it."""
    return [found for name in names for found in _expand(name)]


def _expand(name: str) -> list[str]:
    if name == STDIN or not Path(name).is_dir():
        return [name]
    # A folder without streams, or one that cannot be listed, stays in the list.
    unlisted: list[str] = []
    found = sorted(_walk(name, unlisted))
    return [*found, *unlisted] or [name]


def _walk(folder: str, unlisted: list[str]) -> Iterator[str]:
    for path, folders, files in os.walk(folder, onerror=lambda e: unlisted.append(e.filename)):
        folders[:] = [entry for entry in folders if not entry.startswith(".")]
        yield from (
            os.path.join(path, entry) for entry in files if framing_guess.is_stream_name(entry)
        )


@contextmanager
def open_source(name: str, wanted: Wanted) -> Generator[Stream]:
    """Open the stream in a file, or standard input for `-`.

    Raises `InputError` if it is not a supported stream, and `OSError` if it cannot be read, also
    during reading.
    """
    framing = wanted.framing or (None if name == STDIN else framing_guess.framing_by_name(name))
    with _open_file(name) as file:
        chunks = chunks_of(file)
        if framing is None:
            framing, chunks = framing_guess.framing_by_start(chunks)
        is_live = name == STDIN or not Path(name).is_file()
        reads = _time_reads(name, chunks, framing, wanted.rate, is_live)
        dialect = wanted.dialect
        if dialect is None:
            dialect, reads = recognize(reads, framing)
        yield Stream(framing, dialect, reads, is_live)


def _open_file(name: str) -> AbstractContextManager[BinaryIO]:
    if name == STDIN:
        return nullcontext(sys.stdin.buffer)
    path = Path(name)
    if path.is_dir():
        os.listdir(path)
        endings = ", ".join(framing_guess.STREAM_ENDINGS)
        raise InputError(f"no recorded streams in this folder; they end with {endings}")
    return path.open("rb")


def _time_reads(
    name: str, chunks: Iterator[bytes], framing: str, rate: float | None, is_live: bool
) -> Iterator[Read]:
    if is_live and rate is None:
        return arriving(chunks)
    rate = rate or DEFAULT_RATE
    recording = None if is_live else _recording(name)
    if recording is None:
        return pace_reads(chunks, framing, rate)
    return recorded_reads(chunks, recording, rate)


def _recording(name: str) -> Recording | None:
    if not Path(name + READS_ENDING).is_file():
        return None
    try:
        return load_recording(Path(name))
    except UsageError as error:
        raise InputError(str(error)) from None
