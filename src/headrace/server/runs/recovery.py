"""Recovery: closes runs that were left open, with what their log contains."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Literal, TypeAlias

from headrace.events import Record, RunClosed, RunFailed, RunFinished
from headrace.log import get_logger
from headrace.messages import fold
from headrace.server.storage.database import StorageFailed
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow, Store

INTERRUPTED: Final = RunFailed(
    category="interrupted", message="the server stopped before the answer was complete"
)
UNSAVED: Final = RunFailed(category="storage", message="the answer could not be saved")
Outcome: TypeAlias = Literal["committed", "save_failed", "interrupted"]
_logger = get_logger("server")


class Recovery:
    """Adds what an open run lacks: its end, its message and its last record.

    However often recovery is started and killed, a run gets one of each.
    """

    def __init__(self, log: Log, store: Store) -> None:
        self._log = log
        self._store = store

    async def recover(self) -> int:
        """Close the runs that an earlier server has left open; return how many.

        A run that cannot be closed does not keep the server from starting; `repair()` tries again.
        """
        rows = await self._store.live_runs()
        for row in rows:
            await self._try_to_close(row, INTERRUPTED, None)
        return len(rows)

    async def repair(self, active_ids: Callable[[], Collection[str]]) -> int:
        """Close the open runs that are not active, whose answers could not be saved.

        Their streams stay as they were sent. Returns how many runs there were.
        """
        rows = await self._store.live_runs()
        # Asked for only now: a run that started during the query is in the rows, and active.
        active = active_ids()
        abandoned = [row for row in rows if row.id not in active]
        for row in abandoned:
            await self._try_to_close(row, UNSAVED, "save_failed")
        return len(abandoned)

    async def _try_to_close(self, row: RunRow, error: RunFailed, outcome: Outcome | None) -> None:
        try:
            await self.close(row, error, outcome)
        except StorageFailed as failed:
            _logger.warning("run %s cannot be closed yet: %s", row.id, failed)
        except Exception:  # one damaged log must not keep the server from starting
            _logger.exception("run %s cannot be closed", row.id)

    async def close(self, row: RunRow, error: RunFailed, outcome: Outcome | None = None) -> None:
        """Close one run; `error` becomes its end if its log has none."""
        records = await self._log.read(row.id)
        outcome = outcome or await self._outcome(row, _terminal(records) or error)
        added = missing_records(row, records, error, outcome)
        await self._store.commit(row, fold([*records, *added]), added)

    async def _outcome(self, row: RunRow, end: RunFinished | RunFailed) -> Outcome:
        """Return "committed" only if the answer was stored already and was complete."""
        is_interrupted = isinstance(end, RunFailed) and end.category == "interrupted"
        if is_interrupted or not await self._store.is_committed(row):
            return "interrupted"
        return "committed"


def missing_records(
    row: RunRow, records: Sequence[Record], error: RunFailed, outcome: Outcome
) -> list[Record]:
    """Return the records that a run lacks at its end; none if it is complete."""
    added: list[Record] = []
    if _terminal(records) is None:
        added.append(_next_record(row, records, error))
    if not any(isinstance(record.event, RunClosed) for record in records):
        closed = RunClosed(outcome, row.message_id)
        added.append(_next_record(row, [*records, *added], closed))
    return added


def _terminal(records: Sequence[Record]) -> RunFinished | RunFailed | None:
    for record in reversed(records):
        if isinstance(record.event, RunFinished | RunFailed) and not record.path:
            return record.event
    return None


def _next_record(row: RunRow, records: Sequence[Record], event: RunFailed | RunClosed) -> Record:
    last = records[-1] if records else Record(0, row.created_ms, event)
    return Record(last.seq + 1, last.at_ms, event)
