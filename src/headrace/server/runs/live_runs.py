"""Runs that are going on. They belong to the server: clients come and go, each record is logged,
and the answer is committed once, at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from headrace.engine import Agent, Run
from headrace.errors import HeadraceError, UsageError
from headrace.events import Record, RunClosed, RunFailed
from headrace.log import get_logger
from headrace.messages import Message, fold
from headrace.server.runs.broadcast import Broadcast, Subscription
from headrace.server.runs.log_replay import Replay, read_pages
from headrace.server.runs.phase_log import create_phase_log
from headrace.server.runs.recovery import INTERRUPTED, UNSAVED, Recovery, missing_records
from headrace.server.sse import FrameEncoder, FrameId, View
from headrace.server.storage.database import StorageFailed
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow, Store
from headrace.tools.left_behind import (
    CURRENT_CALLS,
    MAX_CALLS,
    MAX_CALLS_PER_USER,
    PROCESS_CALLS,
    LeftBehindCalls,
)

_logger = get_logger("server")
# The request of a longer history is encoded in a thread, so that other runs do not wait for it.
_MAX_HISTORY = 1_000
# When the server stops: for each wait of a run that is interrupted, for its end, and for the
# records that it gets if it does not end.
_INTERRUPT_S = 1.0
_END_S = 4.0
_ABANDON_S = 2.0
DRAIN_END_S = _END_S + _ABANDON_S
"""Most seconds that `LiveRuns.drain()` takes after the grace period."""

ProjectionOptions: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Options of the projections, by the name of the protocol."""


class _Sink:
    """The log of one run, as the engine expects it."""

    def __init__(self, log: Log, run_id: str) -> None:
        self._log = log
        self._run_id = run_id
        self._tail = log.tail(run_id)
        self.put = self._tail.put

    async def append(self, records: Sequence[Record]) -> None:
        await self._log.append(self._run_id, records)


class LiveRun:
    """One run that is going on, and its subscriptions."""

    def __init__(
        self,
        row: RunRow,
        run: Run,
        log: Log,
        options: ProjectionOptions | None = None,
        request_id: str | None = None,
    ) -> None:
        self.row = row
        self.run = run
        self._log = log
        self._options: ProjectionOptions = options or {}
        self._broadcasts: dict[View, Broadcast] = {}
        self._phases = create_phase_log(request_id, row.id)
        self.last_seq = 0
        """Number of the last logged record."""
        self.stored_message: Message | None = None
        """The message as the log has it, if the log has failed before the end of the run, or if
        the run did not end."""
        self.task: asyncio.Task[None] | None = None
        run.hand_to(self.publish)
        # Users need not know where the provider is: the log of the server says it.
        run.hides_address = True

    def subscribe(self, view: View, after: FrameId) -> Subscription:
        """Return the frames after `after`, until the run is closed."""
        broadcast = self._broadcasts.get(view)
        if broadcast is None:
            self._drop_idle_options()
            # A view that nobody has read so far begins with a replay of the log.
            encoder = None if self.last_seq else self._new_encoder(view)
            broadcast = Broadcast(partial(self._open_replay, view), encoder)
            self._broadcasts[view] = broadcast
        return broadcast.subscribe(after)

    def _drop_idle_options(self) -> None:
        """Forget views with options that nobody reads: each costs an encoding of every record, and
        clients choose how many there are."""
        for view, broadcast in list(self._broadcasts.items()):
            if view.options and broadcast.is_idle:
                del self._broadcasts[view]

    def has_logged(self, frame: FrameId) -> bool:
        """Return whether the record of this frame is logged, so that a client can know it."""
        return frame.seq <= self.last_seq

    def publish(self, records: Sequence[Record]) -> None:
        """Send records that have been logged to the subscriptions."""
        if not records or _is_unlogged(records[-1]):
            return
        self.last_seq = records[-1].seq
        if self._phases is not None:
            self._phases.feed(records)
        for view, broadcast in list(self._broadcasts.items()):
            try:
                broadcast.feed(records)
            except Exception:
                # A projection that fails ends its subscriptions, but never the run.
                _logger.exception("run %s cannot be shown as %s", self.row.id, view.protocol)
                self._broadcasts.pop(view).close()

    def close(self) -> None:
        """End the subscriptions after the last record."""
        for broadcast in self._broadcasts.values():
            broadcast.close()
        # They refer to this object: without the cycle, it is freed at once.
        self._broadcasts = {}

    def _open_replay(self, view: View, after: FrameId) -> Replay:
        pages = read_pages(self._log, self.row.id, lambda: self.last_seq)
        return Replay(pages, self._new_encoder(view), after)

    def _read_message(self) -> Message:
        return self.stored_message or self.run.message

    def _new_encoder(self, view: View) -> FrameEncoder:
        options = {**self._options.get(view.protocol, {}), **dict(view.options)}
        return FrameEncoder(view.protocol, self.row.message_id, self._read_message, **options)


class LiveRuns:
    """All live runs of this server."""

    def __init__(
        self,
        log: Log,
        store: Store,
        options: ProjectionOptions | None = None,
        *,
        has_users: bool = False,
    ) -> None:
        self.projection_options: ProjectionOptions = options or {}
        self._log = log
        self._store = store
        self._recovery = Recovery(log, store)
        self._live: dict[str, LiveRun] = {}
        self._is_draining = False
        self._max_left_behind = MAX_CALLS_PER_USER if has_users else MAX_CALLS
        # Each is kept by the runs and the calls that it counts.
        self._left_behind: WeakValueDictionary[str, LeftBehindCalls] = WeakValueDictionary()
        self.total = 0
        """Number of runs that this server has started."""

    @property
    def count(self) -> int:
        """Number of live runs."""
        return len(self._live)

    @property
    def rows(self) -> list[RunRow]:
        """The live runs as the store knows them."""
        return [live.row for live in self._live.values()]

    @property
    def is_draining(self) -> bool:
        """Whether new runs are refused because the server stops."""
        return self._is_draining

    async def begin(
        self,
        row: RunRow,
        agent: Agent,
        history: Sequence[Message],
        request_id: str | None = None,
    ) -> LiveRun | None:
        """Start a run that the store has begun; the last message of `history` is the question.
        `request_id` is for the log.

        Returns None if the server is stopping: the run is then closed as interrupted.
        """
        *earlier, question = history
        create = partial(agent.run, question, earlier, run_id=row.id, sink=_Sink(self._log, row.id))
        try:
            run = create() if len(history) <= _MAX_HISTORY else await asyncio.to_thread(create)
        except UsageError as error:
            error_event = RunFailed(category="invalid_request", message=str(error))
            await self._recovery.close(row, error_event, "interrupted")
            raise
        if self._is_draining:
            await self._recovery.close(row, INTERRUPTED)
            return None
        self.total += 1
        live = LiveRun(row, run, self._log, self.projection_options, request_id)
        self._live[row.message_id] = live
        live.task = asyncio.create_task(self._execute(live), name=f"live {row.id}")
        return live

    def get(self, message_id: str) -> LiveRun | None:
        """Return the run that writes this message, or None if it is not live."""
        return self._live.get(message_id)

    def cancel(self, message_id: str) -> bool:
        """Cancel a run. Return False if it is not live."""
        live = self._live.get(message_id)
        if live is None:
            return False
        live.run.cancel("cancelled by the user")
        return True

    async def stop(self, message_id: str, grace_s: float) -> None:
        """Cancel a run and wait until it is closed, at most `grace_s`."""
        live = self._live.get(message_id)
        if live is not None and live.task is not None and self.cancel(message_id):
            await asyncio.wait([live.task], timeout=grace_s)

    async def drain(self, grace_s: float) -> None:
        """Refuse new runs, let the live ones finish for `grace_s`, then interrupt them.

        A run that does not end even then is closed as interrupted without it, so that all its
        subscriptions get a last frame.
        """
        self._is_draining = True
        await self._wait_for_all(grace_s)
        for live in list(self._live.values()):
            live.run.interrupt("the server is stopping", max_closing_s=_INTERRUPT_S)
        await self._wait_for_all(_END_S)
        if self._live:
            abandoning = [asyncio.create_task(self._abandon(run)) for run in self._live.values()]
            await asyncio.wait(abandoning, timeout=_ABANDON_S)
            self._live.clear()

    async def _wait_for_all(self, timeout_s: float) -> None:
        tasks = [live.task for live in self._live.values() if live.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)

    async def _abandon(self, live: LiveRun) -> None:
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

    def _count_left_behind(self, owner: str) -> LeftBehindCalls:
        """Return the counter of the calls of a user that go on after they were stopped."""
        counter = self._left_behind.get(owner)
        if counter is None:
            counter = LeftBehindCalls(self._max_left_behind, PROCESS_CALLS)
            self._left_behind[owner] = counter
        return counter

    async def _execute(self, live: LiveRun) -> None:
        CURRENT_CALLS.set(self._count_left_behind(live.row.owner))
        try:
            # An error that middleware raises at the very end is in the run's records too.
            with suppress(HeadraceError):
                async with live.run as run:
                    await run.wait()
            if live.run.private_error is not None:
                _logger.warning("run %s failed: %s", live.row.id, live.run.private_error)
            await self._close(live)
        finally:
            live.close()
            self._live.pop(live.row.message_id, None)

    async def _close(self, live: LiveRun) -> None:
        """Commit the answer together with the last record, which tells whether that worked."""
        last = live.run.records_so_far[-1]
        closing = Record(last.seq + 1, last.at_ms, _closing_event(live.row, last))
        try:
            await self._store.commit(live.row, live.run.message, [closing])
        except StorageFailed as error:
            _logger.error("run %s cannot be saved: %s", live.row.id, error)
            live.publish(await self._end_unsaved(live))
            return
        live.publish([closing])

    async def _end_unsaved(self, live: LiveRun) -> list[Record]:
        """Return the records that `Recovery.repair()` will add, so that clients that come later
        see the same end; add them now if that is possible."""
        row = live.row
        try:
            records = await self._log.read(row.id)
        except StorageFailed:
            last = live.run.records_so_far[-1]
            return [Record(last.seq + 1, last.at_ms, RunClosed("save_failed", row.message_id))]
        added = missing_records(row, records, UNSAVED, "save_failed")
        live.stored_message = fold([*records, *added])
        with suppress(StorageFailed):
            await self._log.append(row.id, added)
        return added


def _is_unlogged(record: Record) -> bool:
    """Return whether this is the end that the engine gives a run whose log has failed."""
    event = record.event
    return type(event) is RunFailed and event.category == "storage" and not record.path


def _closing_event(row: RunRow, last: Record) -> RunClosed:
    is_interrupted = isinstance(last.event, RunFailed) and last.event.category == "interrupted"
    return RunClosed("interrupted" if is_interrupted else "committed", row.message_id)
