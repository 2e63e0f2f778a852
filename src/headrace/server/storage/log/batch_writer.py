"""`BatchWriter`: appends the records of many runs together, for logs that other servers share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from headrace.events import Record
from headrace.log import get_logger
from headrace.server.storage import outage
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log.batch import Batch, BatchQueue, encode_batch
from headrace.server.storage.log.log import Done
from headrace.server.storage.outage import ConnectionLost, retry

Write: TypeAlias = Callable[[list[Batch]], Awaitable[list[Exception | None]]]
"""Appends records of different runs. Returns the error of each, or None. Raises `ConnectionLost`
if all of them are to be appended again."""
_logger = get_logger("server")
# After a call with so many entries, the next one waits longer: a call costs as much as some twenty
# events, whatever it appends.
_CROWDED_ENTRIES: Final = 4
_CROWDED_GATHER_S: Final = 0.008


class BatchWriter:
    """Appends batch after batch with `write`, one call at a time, and repeats a call while `place`
    cannot be reached. The first call waits `gather_s` for the records of other runs, and on a
    crowded server each call waits 8 ms for them."""

    def __init__(self, write: Write, place: str, gather_s: float) -> None:
        self._write = write
        self._place = place
        self._gather_s = gather_s
        self._queue = BatchQueue()
        # Number of entries in the call before.
        self._entries = 0
        self._task: asyncio.Task[None] | None = None
        # When the records that are being written were taken; None if there are none.
        self._writing_since_s: float | None = None
        self.has_room = asyncio.Event()
        """While this is not set, nothing is appended."""
        self.has_room.set()

    @property
    def waiting(self) -> int:
        """Number of batches that wait to be appended."""
        return len(self._queue)

    @property
    def lag_s(self) -> float:
        """Seconds that the current append has taken so far, or 0 if nothing is appended."""
        since_s = self._writing_since_s
        return 0.0 if since_s is None else time.monotonic() - since_s

    def tail(self, run_id: str, epoch: int) -> BatchTail:
        """Return the end of one run's log."""
        return BatchTail(self, run_id, epoch)

    def put(self, batch: Batch, done: Done) -> None:
        """Append records with the next call, and call `done`."""
        self._queue.put(batch, done)
        if self._task is None:
            self._task = asyncio.create_task(self._write_all(), name=f"append to {self._place}")

    async def append(self, run_id: str, records: Sequence[Record], epoch: int) -> None:
        """Append records, and wait until they are stored. Raises `StorageFailed`."""
        if not records:
            return
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(error: Exception | None) -> None:
            if stored.done():
                return
            if error is None:
                stored.set_result(None)
            else:
                stored.set_exception(error)

        self.put(encode_batch(run_id, epoch, records), settle)
        await stored

    async def close(self) -> None:
        """Finish what waits."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=outage.OUTAGE_S)

    async def _write_all(self) -> None:
        try:
            if self._entries < _CROWDED_ENTRIES:
                await asyncio.sleep(self._gather_s)
            while self._queue:
                if self._entries >= _CROWDED_ENTRIES:
                    await asyncio.sleep(_CROWDED_GATHER_S)
                self._writing_since_s = time.monotonic()
                await self.has_room.wait()
                self._entries = len(self._queue)
                groups = self._queue.take()
                errors = await self._write_or_fail([group.join() for group in groups])
                self._writing_since_s = None
                for group, error in zip(groups, errors, strict=True):
                    group.finish(error)
        finally:
            self._task = self._writing_since_s = None

    async def _write_or_fail(self, batches: list[Batch]) -> list[Exception | None]:
        try:
            return await retry(lambda: self._write(batches), self._place)
        except ConnectionLost as error:
            _logger.error("records of %d runs cannot be written: %s", len(batches), error)
            return [error] * len(batches)
        except Exception as error:  # given to the runs
            _logger.exception("records of %d runs cannot be written", len(batches))
            return [error] * len(batches)


class BatchTail:
    """The end of one run's log; see `Tail`."""

    __slots__ = ("_epoch", "_run_id", "_writer")

    def __init__(self, writer: BatchWriter, run_id: str, epoch: int) -> None:
        self._writer = writer
        self._run_id = run_id
        self._epoch = epoch

    def put(self, records: Sequence[Record], done: Done) -> None:
        try:
            batch = encode_batch(self._run_id, self._epoch, records)
        except StorageFailed as error:
            asyncio.get_running_loop().call_soon(done, error)
            return
        self._writer.put(batch, done)
