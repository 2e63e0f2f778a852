"""Live runs: they belong to the server. Watchers come and go, the run goes on, is logged record
by record, and is committed once, at its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from functools import partial

from headrace.engine import Agent, Run
from headrace.errors import HeadraceError, UsageError
from headrace.events import Record, RunClosed, RunFailed
from headrace.messages import Message
from headrace.server.protocol import Protocols
from headrace.server.runs.broadcast import Broadcast
from headrace.server.runs.recovery import INTERRUPTED, Recovery
from headrace.server.runs.stored_frames import Past, pages
from headrace.server.sse import Encoding, FrameId
from headrace.server.storage.database import StorageFailed
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow, Store

_logger = logging.getLogger("headrace.server")


class _Sink:
    """The log of one run, as the engine sees it."""

    def __init__(self, log: Log, run_id: str) -> None:
        self._log = log
        self._run_id = run_id
        self._tail = log.tail(run_id)
        self.put = self._tail.put

    async def append(self, records: Sequence[Record]) -> None:
        await self._log.append(self._run_id, records)


class LiveRun:
    """One run that is going on, and those who watch it. What has been shown is in the log and
    nowhere else."""

    def __init__(self, row: RunRow, run: Run, log: Log, protocols: Protocols) -> None:
        self.row = row
        self.run = run
        self._log = log
        self._protocols = protocols
        self._broadcasts: dict[str, Broadcast] = {}
        self._shown = 0
        self._is_over = False
        self.task: asyncio.Task[None] | None = None
        run.hand_to(self.show)

    def watch(self, protocol: str, after: FrameId) -> AsyncIterator[list[bytes]]:
        """The frames behind `after`, until the run is closed."""
        broadcast = self._broadcasts.get(protocol)
        if broadcast is None and self._shown:
            return self._joined(protocol, after)
        if broadcast is None:
            broadcast = self._begun(protocol, self._encoding(protocol))
        return broadcast.watch(after)

    def has_shown(self, frame: FrameId) -> bool:
        """Whether its record is one that a watcher can have seen."""
        return frame.seq <= self._shown

    async def _joined(self, protocol: str, after: FrameId) -> AsyncGenerator[list[bytes], None]:
        """The same in a protocol that nobody has watched in so far."""
        encoding = self._encoding(protocol)
        past = Past(pages(self._log, self.row.id, lambda: self._shown), encoding)
        async for _ in past:
            pass
        broadcast = self._broadcasts.get(protocol) or self._begun(protocol, encoding, past.newest)
        async with aclosing(broadcast.watch(after)) as watch:
            async for frames in watch:
                yield frames

    def _begun(self, protocol: str, encoding: Encoding, gone: bytes | None = None) -> Broadcast:
        broadcast = Broadcast(encoding, partial(self._past, protocol), gone)
        self._broadcasts[protocol] = broadcast
        if self._is_over:
            broadcast.close()
        return broadcast

    def _encoding(self, protocol: str) -> Encoding:
        return self._protocols[protocol](self.row, self._told)

    def _told(self) -> Message:
        """What the run itself has folded need not be folded again."""
        return self.run.message

    def _past(self, protocol: str, after: FrameId, last: FrameId) -> Past:
        """The frames between these two, the latter included."""
        records = pages(self._log, self.row.id, lambda: last.seq)
        return Past(records, self._encoding(protocol), after)

    def show(self, records: Sequence[Record]) -> None:
        """Records are in the log."""
        if not records:
            return
        self._shown = records[-1].seq
        for protocol, broadcast in list(self._broadcasts.items()):
            try:
                broadcast.feed(records)
            except Exception:
                # The edge of the run: what cannot be shown ends those who watch it, not the run.
                _logger.exception("run %s cannot be shown as %s", self.row.id, protocol)
                self._broadcasts.pop(protocol).close()

    def close(self) -> None:
        """The last record has been shown."""
        self._is_over = True
        for broadcast in self._broadcasts.values():
            broadcast.close()
        # Each knows its run: what is over must not hold itself.
        self._broadcasts = {}


class LiveRuns:
    """All runs of this server."""

    def __init__(self, log: Log, store: Store, protocols: Protocols) -> None:
        self._log = log
        self._store = store
        self._protocols = protocols
        self._recovery = Recovery(log, store)
        self._live: dict[str, LiveRun] = {}
        self._is_draining = False
        self.begun = 0
        """Runs that this server has begun."""

    @property
    def count(self) -> int:
        """How many are going on."""
        return len(self._live)

    @property
    def ids(self) -> list[str]:
        """The events that are being written."""
        return list(self._live)

    @property
    def is_draining(self) -> bool:
        """Whether no new ones are taken."""
        return self._is_draining

    async def begin(self, row: RunRow, agent: Agent, history: Sequence[Message]) -> LiveRun | None:
        """Begin to work at a run that the store knows. Its last message is what is asked. None
        where the server began to stop in between: the run is over then, and says so."""
        if self._is_draining:
            await self._recovery.end(row, INTERRUPTED)
            return None
        *earlier, asked = history
        try:
            run = agent.run(asked, earlier, run_id=row.id, sink=_Sink(self._log, row.id))
        except UsageError as error:
            failure = RunFailed(category="invalid_request", message=str(error))
            await self._recovery.end(row, failure, "interrupted")
            raise
        self.begun += 1
        live = LiveRun(row, run, self._log, self._protocols)
        self._live[row.message_id] = live
        live.task = asyncio.create_task(self._play(live), name=f"live {row.id}")
        return live

    def get(self, message_id: str) -> LiveRun | None:
        """The run whose event this is, if it goes on."""
        return self._live.get(message_id)

    def cancel(self, message_id: str) -> bool:
        """Ask a run to end. False where there is none any more."""
        live = self._live.get(message_id)
        if live is None:
            return False
        live.run.cancel("cancelled by a person")
        return True

    async def stop(self, message_id: str, grace_s: float) -> None:
        """Ask a run to end and wait until it is closed, but no longer than so."""
        live = self._live.get(message_id)
        if live is not None and live.task is not None and self.cancel(message_id):
            await asyncio.wait([live.task], timeout=grace_s)

    async def drain(self, grace_s: float) -> None:
        """Take no new runs, give those that go on their time, then end them."""
        self._is_draining = True
        tasks = [live.task for live in self._live.values() if live.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for live in list(self._live.values()):
            live.run.interrupt("the server is stopping")
        tasks = [live.task for live in self._live.values() if live.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)

    async def _play(self, live: LiveRun) -> None:
        try:
            # What middleware raises at the very end is told by the run's own records.
            with suppress(HeadraceError):
                async with live.run as run:
                    await run.wait()
            await self._close(live)
        finally:
            live.close()
            self._live.pop(live.row.message_id, None)

    async def _close(self, live: LiveRun) -> None:
        """Commit the message and the last record as one; say so where it cannot be."""
        last = live.run.records[-1]
        closing = Record(last.seq + 1, last.at_ms, _closed(live.row, last))
        try:
            await self._store.commit(live.row, live.run.message, [closing])
        except StorageFailed:
            closing = Record(last.seq + 1, last.at_ms, RunClosed("save_failed"))
            with suppress(StorageFailed):
                await self._log.append(live.row.id, [closing])
        live.show([closing])


def _closed(row: RunRow, last: Record) -> RunClosed:
    is_interrupted = isinstance(last.event, RunFailed) and last.event.category == "interrupted"
    return RunClosed("interrupted" if is_interrupted else "committed", row.message_id)
