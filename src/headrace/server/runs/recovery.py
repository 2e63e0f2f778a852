"""Recovery: closes runs that were left open, with what their log contains."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final, Literal, TypeAlias

from headrace.events import Record, RunClosed, RunFailed, RunFinished, RunSuspended
from headrace.log import get_logger
from headrace.messages import Assembler, InputRequest, fold
from headrace.server.storage.errors import StorageFailed
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

    def __init__(
        self,
        log: Log,
        store: Store,
        claim: Callable[[RunRow], Awaitable[object]] | None = None,
        on_interrupted: Callable[[RunRow, Sequence[Record]], None] | None = None,
    ) -> None:
        self._log = log
        self._store = store
        self._claim = claim or _leave
        """Goes on with a suspended run whose input has come."""
        self._on_interrupted = on_interrupted
        """Called with the records of a run that a killed server has left, after it was closed."""

    async def recover(self) -> int:
        """Close the runs that an earlier server has left open; return how many.

        A run that cannot be closed does not keep the server from starting; `repair()` tries again.
        """
        rows = await self._store.live_runs()
        for row in rows:
            await self._try_to_end(row, INTERRUPTED, None, frozenset)
        return len(rows)

    async def repair(
        self, active_ids: Callable[[], Collection[str]], unsaved: Collection[str] | None = None
    ) -> int:
        """Close the open runs that are not active, whose answers could not be saved; with
        `unsaved`, only those of them.

        Their streams stay as they were sent. Returns how many runs there were.
        """
        rows = await self._store.live_runs()
        # Asked for only now: a run that started during the query is in the rows, and active.
        active = active_ids()
        abandoned = [row for row in rows if row.id not in active]
        if unsaved is not None:
            abandoned = [row for row in abandoned if row.id in unsaved]
        for row in abandoned:
            await self._try_to_end(row, UNSAVED, "save_failed", active_ids)
        return len(abandoned)

    async def _try_to_end(
        self,
        row: RunRow,
        error: RunFailed,
        outcome: Outcome | None,
        active_ids: Callable[[], Collection[str]],
    ) -> None:
        """Close a run, or mark it as suspended if its log says that it waits for input."""
        try:
            records = await self._log.read(row.id)
            if not is_waiting(records):
                await self._close(row, records, error, outcome)
            # It may have been suspended after its row was read, and may even go on again.
            elif row.id not in active_ids():
                await self._suspend(row, records)
        except StorageFailed as failed:
            _logger.warning("run %s cannot be closed yet: %s", row.id, failed)
        except Exception:  # one damaged log must not keep the server from starting
            _logger.exception("run %s cannot be closed", row.id)

    async def _suspend(self, row: RunRow, records: Sequence[Record]) -> None:
        expires_ms = first_expiry(_requests(records))
        await self._store.suspend(row, records[-1].at_ms, expires_ms, even_with_input=True)
        if await self._store.open_entries(row.id):
            await self._claim(row)

    async def end(self, row: RunRow, error: RunFailed) -> None:
        """Close a run that this server has claimed, or mark it as suspended."""
        await self._try_to_end(row, error, None, frozenset)

    async def close(self, row: RunRow, error: RunFailed, outcome: Outcome | None = None) -> None:
        """Close one run; `error` becomes its end if its log has none."""
        await self._close(row, await self._log.read(row.id), error, outcome)

    async def _close(
        self, row: RunRow, records: Sequence[Record], error: RunFailed, outcome: Outcome | None
    ) -> None:
        # If the run has been continued since its log was read, its records do not fit any more,
        # and the store refuses them.
        outcome = outcome or await self._outcome(row, _terminal(records) or error)
        added = missing_records(row, records, error, outcome)
        await self._store.commit(row, fold([*records, *added]), added)
        if self._on_interrupted is not None and _terminal(records) is None and records:
            self._on_interrupted(row, [*records, *added])

    async def _outcome(self, row: RunRow, end: RunFinished | RunFailed) -> Outcome:
        """Return "committed" only if the answer was stored already and was complete."""
        is_interrupted = isinstance(end, RunFailed) and end.category == "interrupted"
        if is_interrupted or not await self._store.is_committed(row):
            return "interrupted"
        return "committed"


async def _leave(row: RunRow) -> None:
    """Leave a suspended run as it is."""


def is_waiting(records: Sequence[Record]) -> bool:
    """Return whether a run with these records waits for input."""
    last = records[-1].event if records else None
    return isinstance(last, RunSuspended) and last.reason == "input"


def is_resumable(records: Sequence[Record]) -> bool:
    """Return whether a run with these records has begun and has not ended."""
    return bool(records) and _terminal(records) is None


def was_drained(records: Sequence[Record]) -> bool:
    """Return whether a server that was stopped has left a run for another one to go on with."""
    last = records[-1].event if records else None
    return isinstance(last, RunSuspended) and last.reason == "drain"


def first_expiry(requests: Iterable[InputRequest]) -> int | None:
    """Return the time at which the first of these requests expires."""
    times = (request.expires_at_ms for request in requests if request.decision is None)
    return min((at_ms for at_ms in times if at_ms is not None), default=None)


def _requests(records: Sequence[Record]) -> Iterable[InputRequest]:
    assembler = Assembler()
    for record in records:
        assembler.feed(record)
    return assembler.open_requests()


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
    return Record(last.seq + 1, last.at_ms, event, epoch=row.epoch)
