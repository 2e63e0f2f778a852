"""What the log writes to the disk: bytes per event, and the largest WAL."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headrace.events import Record, TextDelta
from headrace.server.storage.database import Database
from headrace.server.storage.log import SQLiteLog
from headrace.server.storage.store import SQLiteStore

_LOADS = ((50, 20), (300, 5), (1, 20))
_SECONDS = 20.0


@dataclass
class DiskUse:
    """The figures of one load."""

    streams: int
    rate: int
    """Events per second of a stream."""
    events: int
    written_bytes: int
    """Of the WAL and of the database file."""
    wal_bytes: int
    """Largest size of the WAL file."""

    def __str__(self) -> str:
        each = self.written_bytes / self.events / 1000
        wal = self.wal_bytes / 1e6
        return (
            f"disk: {self.streams} streams of {self.rate} events/s: {each:.1f} KB written per"
            f" event, WAL at most {wal:.1f} MB ({self.events:,} events)"
        )


def disk_uses(tell: Callable[[str], None], *, is_quick: bool = False) -> list[DiskUse]:
    """Measure each load for some seconds."""
    uses: list[DiskUse] = []
    for streams, rate in _LOADS:
        tell(f"disk: {streams} streams of {rate} events/s")
        uses.append(asyncio.run(_measure(streams, rate, _SECONDS / (4 if is_quick else 1))))
    return uses


async def _measure(streams: int, rate: int, seconds: float) -> DiskUse:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "headrace.db"
        with closing(Database(path)) as database:
            SQLiteStore(database)  # creates the tables
            log = SQLiteLog(database)
            before = _written_bytes()
            watching = asyncio.create_task(_watch(path.with_name("headrace.db-wal")))
            count = int(rate * seconds)
            await asyncio.gather(*(_write(log, n, streams, rate, count) for n in range(streams)))
            watching.cancel()
            largest = (await asyncio.gather(watching))[0]
        return DiskUse(streams, rate, streams * count, _written_bytes() - before, largest)


async def _write(log: SQLiteLog, number: int, streams: int, rate: int, count: int) -> None:
    tail = log.tail(f"run_{number:032x}")
    loop = asyncio.get_running_loop()
    stored: asyncio.Future[Exception | None] = loop.create_future()
    start_s = loop.time() + number / streams / rate
    for seq in range(1, count + 1):
        await asyncio.sleep(start_s + seq / rate - loop.time())
        stored = loop.create_future()
        tail.put([Record(seq, 1_763_200_000_000 + seq, TextDelta(0, " word"))], stored.set_result)
    if (error := await stored) is not None:
        raise error


async def _watch(wal: Path) -> int:
    largest = 0
    try:
        while True:
            largest = max(largest, wal.stat().st_size)
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        return largest


def _written_bytes() -> int:
    """Bytes that this process has passed to write calls so far."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"])


if __name__ == "__main__":
    for use in disk_uses(print):
        print(use)
