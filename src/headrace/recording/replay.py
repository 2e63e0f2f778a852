"""A transport that replays a recorded stream with its original or scaled timing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from headrace.errors import UsageError
from headrace.recording.file import load_recording
from headrace.transport.retry import Sleep
from headrace.transport.transport import HTTPCall


class ReplayTransport:
    """Answers every call with the same reads.

    `pauses_ms` are the pauses before each read; missing ones are 0. A `speed` of 2 is twice the
    original speed; None does not wait at all.
    """

    def __init__(
        self,
        reads: Sequence[bytes],
        pauses_ms: Sequence[float] = (),
        *,
        speed: float | None = 1.0,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if speed is not None and speed <= 0:
            raise UsageError(f"expected a speed above 0, or None for no waiting; got {speed}")
        self._reads = reads
        self._pauses_ms = pauses_ms
        self._speed = speed
        self._sleep = sleep
        self._clock = clock

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        speed: float | None = 1.0,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> ReplayTransport:
        """Load a recorded stream, with the timing from FILE.chunks.json.

        Raises `OSError`, and `UsageError` if that list cannot be read.
        """
        path = Path(path)
        recording = load_recording(path)
        reads = list(recording.cut(path.read_bytes()))
        return cls(reads, recording.ms or (), speed=speed, sleep=sleep, clock=clock)

    async def open(self, call: HTTPCall) -> ReplayStream:
        """Return the stream from its start. The call is ignored."""
        factor = 0.0 if self._speed is None else 0.001 / self._speed
        return ReplayStream(
            self._reads, [ms * factor for ms in self._pauses_ms], self._sleep, self._clock
        )

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


class ReplayStream:
    """One replay. After `aclose()` there are no more reads."""

    request_id: str | None = None
    first_event_by_s: float | None = None

    def __init__(
        self,
        reads: Sequence[bytes],
        pauses_s: Sequence[float],
        sleep: Sleep,
        clock: Callable[[], float],
    ) -> None:
        self._reads = reads
        self._pauses_s = pauses_s
        self._sleep = sleep
        self._clock = clock
        self._is_closed = False

        self._number = 0
        self._due_s: float | None = None

    def __aiter__(self) -> ReplayStream:
        return self

    async def __anext__(self) -> bytes:
        read = b""
        while not read:
            await self._pause()
            if self._is_closed or self._number >= len(self._reads):
                raise StopAsyncIteration
            read = self._reads[self._number]
            self._number += 1
        return read

    async def aclose(self) -> None:
        """Stop the replay."""
        self._is_closed = True

    async def _pause(self) -> None:
        # Sleeping until a point in time avoids that small delays add up.
        due_s = self._clock() if self._due_s is None else self._due_s
        pauses_s = self._pauses_s[self._number : self._number + 1]
        self._due_s = due_s + sum(pauses_s)
        # Without a pause too, other tasks get a turn between two reads.
        await self._sleep(max(self._due_s - self._clock(), 0.0))
