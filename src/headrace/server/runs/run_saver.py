"""Saves the answer of a run that has ended, and tells clients whether that worked."""

from __future__ import annotations

from contextlib import suppress

from headrace.engine import Run
from headrace.events import Record, RunClosed, RunFailed
from headrace.log import get_logger
from headrace.messages import fold
from headrace.server.runs.live_run import LiveRun
from headrace.server.runs.recovery import INTERRUPTED, UNSAVED, Recovery, missing_records
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
        closing = Record(last.seq + 1, last.at_ms, _closing_event(live.row, last))
        try:
            await self._store.commit(live.row, run.message, [closing])
        except RunTaken as error:
            # Another server goes on with it; the clients of this one come back and find it there.
            _logger.warning("run %s was lost: %s", live.row.id, error)
            # What came from the inbox may not be in the log: the other server takes it.
            live.taken.clear()
            return
        except StorageFailed as error:
            _logger.error("run %s cannot be saved: %s", live.row.id, error)
            live.publish(await self._end_unsaved(live, run))
            return
        live.publish([closing])

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
            return [Record(last.seq + 1, last.at_ms, RunClosed("save_failed", row.message_id))]
        added = missing_records(row, records, UNSAVED, "save_failed")
        live.stored_message = fold([*records, *added])
        with suppress(StorageFailed):
            await self._log.append(row.id, added, row.epoch)
        return added


def _closing_event(row: RunRow, last: Record) -> RunClosed:
    is_interrupted = isinstance(last.event, RunFailed) and last.event.category == "interrupted"
    return RunClosed("interrupted" if is_interrupted else "committed", row.message_id)
