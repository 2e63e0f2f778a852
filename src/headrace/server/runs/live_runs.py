"""Runs that are going on. They belong to the server: clients come and go, each record is logged,
and the answer is committed once, at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from headrace.engine import Agent, Run
from headrace.errors import HeadraceError, UsageError
from headrace.events import RunClosed, RunFailed, RunSuspended
from headrace.log import get_logger
from headrace.messages import Message
from headrace.server.runs.live_run import LiveRun, LogSink, ProjectionOptions
from headrace.server.runs.recovery import (
    INTERRUPTED,
    Recovery,
    first_expiry,
    is_resumable,
    was_drained,
)
from headrace.server.runs.run_saver import RunSaver
from headrace.server.runs.waiting.moves import Moves
from headrace.server.runs.waiting.waiting_runs import WaitingRuns
from headrace.server.stop.time_limit import RUN_ABANDON_S, RUN_END_S
from headrace.server.storage.cluster import Cluster
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow, Store
from headrace.telemetry.run_statistics import RunStatistics
from headrace.tools.left_behind import (
    CURRENT_CALLS,
    MAX_CALLS,
    MAX_CALLS_PER_USER,
    LeftBehindByUser,
)

_logger = get_logger("server")
# The request of a longer history is encoded in a thread, so that other runs do not wait for it.
_MAX_HISTORY = 1_000
# When the server stops: for each wait of a run that is interrupted.
_INTERRUPT_S = 1.0


class LiveRuns:
    """All live runs of this server."""

    def __init__(
        self,
        log: Log,
        store: Store,
        options: ProjectionOptions | None = None,
        *,
        has_users: bool = False,
        cluster: Cluster | None = None,
    ) -> None:
        self.projection_options: ProjectionOptions = options or {}
        self._log = log
        self._store = store
        self._cluster = cluster
        self._node = None if cluster is None else cluster.node
        self.waiting = WaitingRuns(log, self.projection_options, cluster)
        self.saver = RunSaver(log, store)
        self.statistics = RunStatistics()
        self._recovery = Recovery(log, store)
        self._live: dict[str, LiveRun] = {}
        # Runs that are being suspended or resumed, perhaps by several requests at once.
        self._moves = Moves()
        self._waking: set[asyncio.Task[None]] = set()
        self.find_agent: Callable[[RunRow], Awaitable[tuple[Agent, list[Message]]]] = _find_nothing
        """Returns the agent of a run, and the messages up to its question."""
        self.on_end: Callable[[RunRow], Awaitable[None]] | None = None
        """Called after a run has been closed that had entries in its inbox."""
        self.continues = False
        """Whether the next server goes on with runs that are live when this one stops."""
        self._is_draining = False
        self.on_drain: list[Callable[[], object]] = []
        """Called when the runs have been drained, to end streams that belong to no run."""
        self.left_behind = LeftBehindByUser(MAX_CALLS_PER_USER if has_users else MAX_CALLS)
        """The calls of tools that go on after their end, by user."""
        self.total = 0
        """Number of runs that this server has started."""

    @property
    def count(self) -> int:
        """Number of live runs."""
        return len(self._live)

    @property
    def rows(self) -> list[RunRow]:
        """The live runs as the store knows them."""
        return [*(live.row for live in self._live.values()), *self._moves.rows]

    @property
    def has_others(self) -> bool:
        """Whether other servers may share the database."""
        return self._cluster is not None

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
        create = partial(
            agent.run,
            question,
            earlier,
            run_id=row.id,
            sink=self._open_sink(row),
            user=row.owner,
            suspends=agent.is_resumable,
            epoch=row.epoch,
        )
        run = await self._create(row, create, len(history))
        if self._is_draining:
            await self._recovery.close(row, INTERRUPTED)
            return None
        self.total += 1
        live = LiveRun(row, self._log, self.projection_options, request_id)
        live.attach(run)
        self._start(live)
        return live

    def _open_sink(self, row: RunRow) -> LogSink:
        cluster = self._cluster
        return LogSink(self._log, row, None if cluster is None else lambda: cluster.is_current)

    async def _create(self, row: RunRow, create: Callable[[], Run], messages: int) -> Run:
        """Create a run. One that cannot be created is closed, and the error is raised."""
        try:
            return create() if messages <= _MAX_HISTORY else await asyncio.to_thread(create)
        except UsageError as error:
            error_event = RunFailed(category="invalid_request", message=str(error))
            await self._recovery.close(row, error_event, "interrupted")
            raise

    def _start(self, live: LiveRun) -> None:
        self._live[live.row.message_id] = live
        live.task = asyncio.create_task(self._execute(live), name=f"live {live.row.id}")

    # -- suspended runs

    async def wake(self, row: RunRow) -> None:
        """Let a run take the entries of its inbox. A suspended run goes on for an answer or a
        cancellation; messages wait until then."""
        entries = await self._store.open_entries(row.id)
        if row.id in self._moves:
            # It may have looked at its inbox before.
            task = asyncio.create_task(self._wake_later(row), name=f"wake {row.id}")
            self._waking.add(task)
            task.add_done_callback(self._waking.discard)
            return
        live = self._live.get(row.message_id)
        # If the row is newer, another server has taken the run, and this one does not know it yet.
        if live is not None and live.row.epoch >= row.epoch:
            for entry in entries:
                live.deliver(entry)
            return
        if any(entry.kind in ("answer", "cancel") for entry in entries):
            await self.claim(row)
        if self._cluster is not None:
            # Another server has the run.
            await self._cluster.notify(row.id)

    async def _wake_later(self, row: RunRow) -> None:
        """Let a run take the entries of its inbox when it has been suspended or resumed."""
        await self._moves.wait(row.id)
        try:
            await self.wake(row)
        except StorageFailed as error:
            _logger.warning("the inbox of run %s cannot be read now: %s", row.id, error)

    async def claim(self, row: RunRow) -> bool:
        """Go on with a suspended run. Of several calls at the same moment, one does. Returns False
        if the run cannot go on here."""
        if self._is_draining:
            return False
        with self._moves.enter(row):
            if not await self._has_agent(row):
                return False
            claimed = await self._claim(row)
            if claimed is not None:
                await self._resume(claimed)
            return True

    async def _has_agent(self, row: RunRow) -> bool:
        """Return whether a run can go on here. If not, it waits for a server that has the agent."""
        try:
            await self.find_agent(row)
        except UsageError as error:
            _logger.warning("run %s cannot go on here: %s", row.id, error)
            return False
        return True

    async def resume(self, row: RunRow) -> None:
        """Go on with a run that a killed server has left. One that cannot go on is closed as
        interrupted."""
        with self._moves.enter(row):
            await self._take_over(row)

    async def _take_over(self, row: RunRow) -> None:
        """Go on with a run that is not marked as suspended, and that nobody works on."""
        claimed = await self._claim(row, even_if_live=True)
        if claimed is not None:
            await self._resume(claimed)

    async def _claim(self, row: RunRow, *, even_if_live: bool = False) -> RunRow | None:
        """Make this server the one that works on a run. Returns None if it cannot have the run."""
        epoch = await self._store.claim(row, even_if_live=even_if_live)
        if epoch is None:
            return None
        return replace(row, epoch=epoch, holder=self._node, is_suspended=False)

    async def take_over(self, row: RunRow) -> None:
        """End a run that no server works on, or go on with it."""
        if self._is_draining:
            return
        with self._moves.enter(row):
            goes_on = self.continues or was_drained(await self._log.read(row.id))
            if goes_on and not await self._has_agent(row):
                return
            claimed = await self._claim(row, even_if_live=True)
            if claimed is None:
                return
            if goes_on:
                await self._resume(claimed)
            else:
                await self._recovery.end(claimed, INTERRUPTED)

    async def _resume(self, row: RunRow) -> None:
        records = await self._log.read(row.id)
        if records and not is_resumable(records):
            await self._recovery.close(row, INTERRUPTED)
            return
        try:
            agent, history = await self.find_agent(row)
        except UsageError as error:
            await self._recovery.close(row, RunFailed(category="interrupted", message=str(error)))
            return
        if not records:
            # Its server was lost before the run could begin.
            await self.begin(row, agent, history)
            return
        *earlier, question = history
        create = partial(
            agent.resume,
            records,
            input=question,
            history=earlier,
            sink=self._open_sink(row),
            user=row.owner,
            suspends=True,
            node=self._node,
            epoch=row.epoch,
        )
        try:
            run = await self._create(row, create, len(history))
        except UsageError as error:
            _logger.warning("run %s cannot go on: %s", row.id, error)
            return
        entries = await self._store.open_entries(row.id)
        # From here on without a pause: a client that comes now must find the same object.
        live = self.waiting.take(row, records[-1])
        if live is None:
            live = LiveRun(row, self._log, self.projection_options)
            live.last_record, live.last_seq = records[-1], records[-1].seq
        live.row = row
        live.attach(run)
        for entry in entries:
            live.deliver(entry)
        self._start(live)

    def is_elsewhere(self, row: RunRow) -> bool:
        """Return whether another server works on a run, or may soon: then its end is for the log to
        tell."""
        return self._cluster is not None and row.is_live and row.message_id not in self._live

    async def watch(self, row: RunRow) -> LiveRun | None:
        """Return a run that is suspended, or that another server works on, as clients read it: its
        frames so far, and later ones if it goes on while they wait. None if it has ended."""
        records = await self._log.read(row.id)
        live = self._live.get(row.message_id)
        if live is not None:
            return live
        if records and isinstance(records[-1].event, RunClosed):
            return None
        return self.waiting.open(row, records)

    async def wake_by_id(self, run_id: str) -> None:
        """Let a run of this server take the entries of its inbox."""
        for live in list(self._live.values()):
            if live.row.id == run_id:
                await self.wake(live.row)

    async def _rest(self, live: LiveRun, run: Run) -> None:
        """Note that a run is suspended. If somebody has answered meanwhile, it goes on."""
        with self._moves.enter(live.row):
            await self._rest_or_resume(live, run)

    async def _rest_or_resume(self, live: LiveRun, run: Run) -> None:
        row, last = live.row, run.records_so_far[-1]
        requests = run.requests
        live.drop_early()
        await self._take_entries(live)
        live.detach()
        self._forget(live)
        if isinstance(last.event, RunSuspended) and last.event.reason == "drain":
            # The next server goes on with it.
            live.close()
            if self._cluster is not None:
                await self._cluster.release(row)
            return
        await self.waiting.keep(live)
        # A server that is stopping leaves what has come meanwhile to the next one.
        is_suspended = await self._store.suspend(
            row, last.at_ms, first_expiry(requests), even_with_input=self._is_draining
        )
        if not is_suspended:
            await self._take_over(row)

    def _forget(self, live: LiveRun) -> None:
        """Remove a run, unless it has been claimed again since."""
        if self._live.get(live.row.message_id) is live:
            del self._live[live.row.message_id]

    async def _take_entries(self, live: LiveRun) -> None:
        if live.taken:
            await self._store.take_entries(live.taken)
            live.taken.clear()

    def get(self, message_id: str) -> LiveRun | None:
        """Return the run that writes this message, or None if it is not live."""
        return self._live.get(message_id)

    def cancel(self, message_id: str) -> bool:
        """Cancel a run. Return False if it is not live."""
        live = self._live.get(message_id)
        if live is None or live.run is None:
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
        await self._wait_for_all(0.0 if self.continues else grace_s)
        for live in list(self._live.values()):
            if live.run is None:
                continue
            if self.continues and live.run.is_resumable:
                live.run.suspend(max_closing_s=_INTERRUPT_S)
            else:
                live.run.interrupt("the server is stopping", max_closing_s=_INTERRUPT_S)
        await self._wait_for_all(RUN_END_S)
        self.waiting.close()
        for end_streams in self.on_drain:
            end_streams()
        if self._live:
            abandoning = [
                asyncio.create_task(self.saver.abandon(run)) for run in self._live.values()
            ]
            await asyncio.wait(abandoning, timeout=RUN_ABANDON_S)
            self._live.clear()

    async def _wait_for_all(self, timeout_s: float) -> None:
        tasks = [live.task for live in self._live.values() if live.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)

    async def _execute(self, live: LiveRun) -> None:
        CURRENT_CALLS.set(self.left_behind.of(live.row.owner))
        run = live.run
        assert run is not None
        try:
            # An error that middleware raises at the very end is in the run's records too.
            with suppress(HeadraceError):
                async with run:
                    await run.wait()
            if run.private_error is not None:
                _logger.warning("run %s failed: %s", live.row.id, run.private_error)
            if not run.is_suspended:
                await self.saver.save(live, run)
                records = run.records_so_far
                self.statistics.add(run.message, records[0].at_ms, records[-1].at_ms)
                await self._take_entries(live)
        finally:
            if not run.is_suspended:
                live.close()
                self._forget(live)
        if run.is_suspended:
            await self._rest(live, run)
        elif live.has_entries and self.on_end is not None:
            await self.on_end(live.row)


async def _find_nothing(row: RunRow) -> tuple[Agent, list[Message]]:
    raise UsageError(f"no agent can continue the run {row.id}")
