"""Saves the answer of a run that has ended, and tells clients whether that worked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from headrace.engine import Run
from headrace.events import Record, RunClosed, RunFailed, RunFinished
from headrace.log import get_logger
from headrace.messages import fold
from headrace.server.runs.live_run import LiveRun, is_unlogged
from headrace.server.runs.recovery import INTERRUPTED, UNSAVED, Recovery, missing_records
from headrace.server.storage import outage
from headrace.server.storage.errors import RunTaken, StorageFailed
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow, Store

_logger = get_logger("server")


class RunSaver:
    """Commits answers, each together with the last record of its log."""

    def __init__(self, log: Log, store: Store) -> None:
        self._log = log
        self._store = store
        self._recovery = Recovery(log, store)
        self.unsaved: set[str] = set()
        """Ids of runs whose clients were told that the answer could not be saved."""

    async def save(self, live: LiveRun, run: Run) -> None:
        """Commit the answer together with the last record, which tells whether that worked."""
        last = run.records_so_far[-1]
        closing = _follow(live.row, last, _closing_event(live.row, last))
        try:
            if not await self._is_logged(live.row, last) and await self._save_late(live, run):
                return
            await self._store.commit(live.row, run.message, [closing])
        except RunTaken as error:
            # Another server goes on with it; the clients of this one come back and find it there.
            _logger.warning("run %s was lost: %s", live.row.id, error)
            # What came from the inbox may not be in the log: the other server takes it, and asks
            # what is left in the end.
            live.taken.clear()
            live.has_entries = False
            return
        except StorageFailed as error:
            _logger.error("run %s cannot be saved: %s", live.row.id, error)
            live.publish(await self._end_unsaved(live, run))
            return
        live.publish([closing])

    async def _is_logged(self, row: RunRow, last: Record) -> bool:
        """Return whether the log has the end of a run. One that is cancelled or fails does not wait
        as long for the log as the log may need: records that it has given up may be on their way,
        with the number of its end."""
        event = last.event
        if isinstance(event, RunFinished) and event.reason.word != "aborted":
            return True
        return await outage.retry(partial(self._log.read, row.id, last.seq - 1)) == [last]

    async def _save_late(self, live: LiveRun, run: Run) -> bool:
        """Save an answer whose last records are not in the log. Returns False if the log cannot
        have them. Raises `StorageFailed`."""
        known = run.records_so_far
        if is_unlogged(known[-1]):
            return False
        for is_last_attempt in (False, False, True):
            records, late = await self._find_late(live.row, known)
            if late is None:
                return False
            last = late[-1] if late else records[-1]
            closing = _follow(live.row, last, _closing_event(live.row, last))
            is_same = known[-1].seq == last.seq
            message = run.message if is_same else fold([*records, *late])
            try:
                await self._store.commit(live.row, message, [*late, closing])
            except RunTaken:
                raise
            except StorageFailed:
                # Records that were on their way have come first.
                if is_last_attempt:
                    raise
                continue
            if is_same:
                unseen = [record for record in [*records, *late] if record.seq > live.last_seq]
                live.publish([*unseen, closing])
            # Otherwise this server has shown other records. Its streams break off, and the clients
            # come back for what the log has.
            return True
        return False

    async def _find_late(
        self, row: RunRow, known: Sequence[Record]
    ) -> tuple[list[Record], list[Record] | None]:
        """Return what the log has, and the records that follow it, numbered anew if others have got
        their numbers. Records before them may be on their way to the log: this waits for them as
        long as the log does. The second is None if they do not come."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + outage.OUTAGE_S
        while True:
            # The database may be away for a moment only.
            records = await outage.retry(partial(self._log.read, row.id))
            late = [one for one in known if not _has(records, one)]
            stored = len(records)
            if not late or late[0].seq <= stored + 1:
                return records, [
                    replace(record, seq=seq) for seq, record in enumerate(late, stored + 1)
                ]
            if loop.time() > until_s:
                return records, None
            await asyncio.sleep(outage.FIRST_RETRY_S)

    async def abandon(self, live: LiveRun) -> None:
        """Close a run that does not end. What it still writes is refused by the log, since the
        numbers of its records are taken."""
        try:
            await self._recovery.close(live.row, INTERRUPTED)
            records = await self._log.read(live.row.id)
            live.stored_message = fold(records)
            live.publish([record for record in records if record.seq > live.last_seq])
        except StorageFailed as error:
            _logger.error("run %s cannot be closed: %s", live.row.id, error)
        finally:
            live.close()

    async def _end_unsaved(self, live: LiveRun, run: Run) -> list[Record]:
        """Return the records that `Recovery.repair()` will add, so that clients that come later
        see the same end; add them now if that is possible."""
        row = live.row
        self.unsaved.add(row.id)
        try:
            records = await self._log.read(row.id)
        except StorageFailed:
            last = run.records_so_far[-1]
            return [_follow(row, last, RunClosed("save_failed", row.message_id))]
        added = missing_records(row, records, UNSAVED, "save_failed")
        live.stored_message = fold([*records, *added])
        with suppress(StorageFailed):
            await self._log.append(row.id, added, row.epoch)
        return added


def _follow(row: RunRow, last: Record, event: RunClosed) -> Record:
    return Record(last.seq + 1, last.at_ms, event, epoch=row.epoch)


def _has(records: Sequence[Record], record: Record) -> bool:
    """Return whether a log has this record in its place."""
    return record.seq <= len(records) and records[record.seq - 1] == record


def _closing_event(row: RunRow, last: Record) -> RunClosed:
    is_interrupted = isinstance(last.event, RunFailed) and last.event.category == "interrupted"
    return RunClosed("interrupted" if is_interrupted else "committed", row.message_id)
