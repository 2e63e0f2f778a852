"""A recorded stream with its real or scaled timing, behind the seam of all transports."""

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

    `pauses_ms` are those before each read; a missing one is none. `speed` 2 is twice as
    fast as it was; None does not wait at all.
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
        """The stream that a file holds; FILE.chunks.json beside it has the timing. Raises
        `OSError`, and `UsageError` where that list cannot be read."""
        path = Path(path)
        recording = load_recording(path)
        reads = list(recording.cut(path.read_bytes()))
        return cls(reads, recording.ms or (), speed=speed, sleep=sleep, clock=clock)

    async def open(self, call: HTTPCall) -> ReplayStream:
        """The stream, from its start; the call is not looked at."""
        factor = 0.0 if self._speed is None else 0.001 / self._speed
        return ReplayStream(
            self._reads, [ms * factor for ms in self._pauses_ms], self._sleep, self._clock
        )

    async def aclose(self) -> None:
        """There is nothing to let go of."""


class ReplayStream:
    """One replay. After `aclose` no read comes."""

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
        """Stop."""
        self._is_closed = True

    async def _pause(self) -> None:
        # Every sleep is a little too long; waiting for moments keeps that from adding up.
        due_s = self._clock() if self._due_s is None else self._due_s
        pauses_s = self._pauses_s[self._number : self._number + 1]
        self._due_s = due_s + sum(pauses_s)
        # Also without a pause: others must get their turn between two reads.
        await self._sleep(max(self._due_s - self._clock(), 0.0))
