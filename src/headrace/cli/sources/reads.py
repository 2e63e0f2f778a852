"""The reads of a stream: pieces of bytes with their times, counted from the first."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import BinaryIO, NamedTuple

from headrace.recording.file import Recording
from headrace.wire.framing.aws_event_stream import PRELUDE_BYTES
from headrace.wire.framing.grpc import PREFIX_BYTES
from headrace.wire.limits import DEFAULT_WIRE_LIMITS

_CHUNK_BYTES = 64 * 1024
_ENDS = {"sse": re.compile(rb"\r?\n\r?\n"), "nul-json": re.compile(rb"\0")}
_LINE_END = re.compile(rb"\n")


class Read(NamedTuple):
    """The bytes that arrived at one moment."""

    at_ms: float
    data: bytes


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes in chunks of limited size."""
    read = getattr(file, "read1", file.read)
    return iter(lambda: read(_CHUNK_BYTES), b"")


def arriving(chunks: Iterable[bytes]) -> Iterator[Read]:
    """Yield reads that arrive now, timed by the clock."""
    start_s: float | None = None
    for chunk in chunks:
        now_s = time.monotonic()
        start_s = now_s if start_s is None else start_s
        yield Read((now_s - start_s) * 1000, chunk)


def pace_reads(chunks: Iterable[bytes], framing: str, rate: float) -> Iterator[Read]:
    """Yield reads at `rate` per second, one per event.

    An event ends at the blank line in SSE, at the end of the message in binary framings, at the NUL
    byte in `nul-json`, elsewhere at the end of the line.
    """
    if framing in _MESSAGE_SIZES:
        yield from _paced_messages(chunks, rate, _MESSAGE_SIZES[framing])
        return
    end = _ENDS.get(framing, _LINE_END)
    ended = 0
    for chunk in chunks:
        start = 0
        for match in end.finditer(chunk):
            yield Read(1000 * ended / rate, chunk[start : match.end()])
            start = match.end()
            ended += 1
        if start < len(chunk):
            yield Read(1000 * ended / rate, chunk[start:])


def _grpc_size(start: bytearray) -> int:
    return PREFIX_BYTES + int.from_bytes(start[1:PREFIX_BYTES], "big")


def _aws_size(start: bytearray) -> int:
    return max(int.from_bytes(start[:4], "big"), PRELUDE_BYTES)


# How long a message is, by its first bytes.
_MESSAGE_SIZES: dict[str, Callable[[bytearray], int]] = {
    "grpc": _grpc_size,
    "aws-event-stream": _aws_size,
}


def _paced_messages(
    chunks: Iterable[bytes], rate: float, size_of: Callable[[bytearray], int]
) -> Iterator[Read]:
    """Yield binary messages; anything else is passed on for the decoder to report."""
    held, ended = bytearray(), 0
    for chunk in chunks:
        held += chunk
        while len(held) >= PREFIX_BYTES:
            size = size_of(held)
            end = size if size <= DEFAULT_WIRE_LIMITS.max_frame_bytes else len(held)
            if end > len(held):
                break
            yield Read(1000 * ended / rate, bytes(held[:end]))
            del held[:end]
            ended += 1
    if held:
        yield Read(1000 * ended / rate, bytes(held))


def recorded_reads(chunks: Iterable[bytes], recording: Recording, rate: float) -> Iterator[Read]:
    """Yield the reads of a recording. One that is larger than a chunk is split."""
    moments = _moments(recording, rate)
    left, at_ms = next(moments)
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            while not left:
                left, at_ms = next(moments)
            data = chunk[start : start + left]
            yield Read(at_ms, data)
            start += len(data)
            left -= len(data)


def _moments(recording: Recording, rate: float) -> Iterator[tuple[int, float]]:
    """Yield length and time of each read; the remaining bytes come last."""
    at_ms = 0.0
    pauses = iter(recording.ms[1:]) if recording.ms else repeat(1000 / rate)
    for length in recording.lens:
        yield length, at_ms
        at_ms += next(pauses, 0.0)
    yield sys.maxsize, at_ms


class ReadClock:
    """Yields the bytes of reads and remembers the time of the last one."""

    def __init__(self, reads: Iterable[Read]) -> None:
        self._reads = reads
        self._at_ms = 0.0

    def __call__(self) -> float:
        return self._at_ms

    def __iter__(self) -> Iterator[bytes]:
        for read in self._reads:
            self._at_ms = read.at_ms
            yield read.data
