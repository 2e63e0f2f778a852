"""Recovery: runs that nobody works at any more are closed with what their log has."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final, Literal, TypeAlias

from headrace.events import Record, RunClosed, RunFailed, RunFinished
from headrace.messages import fold
from headrace.server.storage.database import StorageFailed
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow, Store

INTERRUPTED: Final = RunFailed(
    category="interrupted", message="the server stopped before the answer was complete"
)
UNSAVED: Final = RunFailed(category="storage", message="the answer could not be written in time")
Outcome: TypeAlias = Literal["committed", "save_failed", "interrupted"]
_logger = logging.getLogger("headrace.server")


class Recovery:
    """Looks at what is there and adds what is missing: the run's end, its message, its last
    record. However often it is begun and killed, a run gets one of each."""

    def __init__(self, log: Log, store: Store) -> None:
        self._log = log
        self._store = store

    async def recover(self) -> int:
        """End the runs that a server before this one has left, and return how many. One that
        cannot be ended now does not keep the server from starting: `mend` tries again."""
        rows = await self._store.live_runs()
        for row in rows:
            await self._tried(row, INTERRUPTED, None)
        return len(rows)

    async def mend(self, taken: Callable[[], Collection[str]]) -> int:
        """Save what could not be saved when it ended: all open runs but those that somebody
        works at. What was streamed stays as it is. Returns how many there were."""
        rows = await self._store.live_runs()
        # Asked for only now: one that began while we looked is in the rows, and is taken.
        others = taken()
        left = [row for row in rows if row.id not in others]
        for row in left:
            await self._tried(row, UNSAVED, "save_failed")
        return len(left)

    async def _tried(self, row: RunRow, failure: RunFailed, outcome: Outcome | None) -> None:
        try:
            await self.end(row, failure, outcome)
        except StorageFailed as error:
            _logger.warning("run %s cannot be closed yet: %s", row.id, error)
        except Exception:  # one log that makes no sense must not keep the server from starting
            _logger.exception("run %s cannot be closed", row.id)

    async def end(self, row: RunRow, failure: RunFailed, outcome: Outcome | None = None) -> None:
        """Close one run; `failure` is its end where its log has none."""
        records = await self._log.read(row.id)
        outcome = outcome or await self._outcome(row, _terminal(records) or failure)
        added = missing(row, records, failure, outcome)
        await self._store.commit(row, fold([*records, *added]), added)

    async def _outcome(self, row: RunRow, end: RunFinished | RunFailed) -> Outcome:
        """A message that was there is told as what it is; one that we commit, as interrupted."""
        is_interrupted = isinstance(end, RunFailed) and end.category == "interrupted"
        if is_interrupted or not await self._store.is_committed(row):
            return "interrupted"
        return "committed"


def missing(
    row: RunRow, records: Sequence[Record], failure: RunFailed, outcome: Outcome
) -> list[Record]:
    """What these records of a run lack at their end; nothing where they are whole."""
    added: list[Record] = []
    if _terminal(records) is None:
        added.append(_following(row, records, failure))
    if not any(isinstance(record.event, RunClosed) for record in records):
        closed = RunClosed(outcome, row.message_id)
        added.append(_following(row, [*records, *added], closed))
    return added


def _terminal(records: Sequence[Record]) -> RunFinished | RunFailed | None:
    for record in reversed(records):
        if isinstance(record.event, RunFinished | RunFailed) and not record.path:
            return record.event
    return None


def _following(row: RunRow, records: Sequence[Record], event: RunFailed | RunClosed) -> Record:
    last = records[-1] if records else Record(0, row.created_ms, event)
    return Record(last.seq + 1, last.at_ms, event)
