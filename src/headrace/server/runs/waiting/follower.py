"""Follows runs that other servers work on: reads their new records from the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from headrace.events import Record, RunClosed, RunSuspended, encode_record
from headrace.log import get_logger
from headrace.messages import Assembler
from headrace.server.runs.live_run import LiveRun
from headrace.server.storage.cluster import Cluster
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log import Log

_POLL_S: Final = 1.0
_WATCH_POLLS: Final = 10
_PAGE_BYTES: Final = 262_144
_logger = get_logger("server")


class _Followed:
    """One run of another server."""

    def __init__(self, live: LiveRun) -> None:
        self.live = live
        self.task: asyncio.Task[None] | None = None
        self.has_news = False
        self.is_watched = False
        """Whether the other server has been asked to notify this one."""


class Follower:
    """Publishes the records of runs that other servers work on, while clients of this server read
    them.

    The servers notify each other of new records. A notification that is lost delays them by a
    second at most. `on_rest` is called with True when a run is suspended, and with False when it
    goes on.
    """

    def __init__(
        self, log: Log, cluster: Cluster, on_rest: Callable[[LiveRun, bool], None]
    ) -> None:
        self._log = log
        self._cluster = cluster
        self._on_rest = on_rest
        self._followed: dict[str, _Followed] = {}
        self._polling: asyncio.Task[None] | None = None

    def follow(self, live: LiveRun, records: Sequence[Record]) -> LiveRun:
        """Follow a run whose records so far are given. Returns the run as it is followed: another
        client may have asked for it before."""
        run_id = live.row.id
        known = self._followed.get(run_id)
        if known is not None:
            # A client that comes from another server may have seen more than has arrived here.
            if not _contradicts(known.live, records):
                self._publish(known.live, records)
                return known.live
            self._drop(known.live)
        live.assembler = Assembler()
        for record in records:
            live.assembler.feed(record)
        self._followed[run_id] = _Followed(live)
        if records and isinstance(records[-1].event, RunSuspended):
            self._on_rest(live, True)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll(), name="follow runs")
        self.wake([run_id])
        return live

    def pop(self, run_id: str) -> LiveRun | None:
        """Stop following a run, because it ends or goes on here; return it if it was followed."""
        followed = self._followed.pop(run_id, None)
        if followed is None:
            return None
        if followed.task is not None:
            followed.task.cancel()
        return followed.live

    def close(self) -> None:
        """End the streams of all followed runs; their clients come back to another server."""
        for run_id in list(self._followed):
            live = self.pop(run_id)
            if live is not None:
                live.close()
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None

    def wake(self, run_ids: Sequence[str]) -> None:
        """Read the new records of these runs, or of all of them if none is named."""
        for run_id in run_ids or list(self._followed):
            followed = self._followed.get(run_id)
            if followed is None:
                continue
            followed.has_news = True
            if followed.task is None:
                followed.task = asyncio.create_task(self._read(followed), name=f"follow {run_id}")

    async def _read(self, followed: _Followed) -> None:
        """Publish the new records of a run until there are none."""
        live = followed.live
        try:
            if not followed.is_watched:
                followed.is_watched = True
                await self._cluster.watch([live.row.id])
            while followed.has_news:
                followed.has_news = False
                records = await self._read_on(live)
                if _contradicts(live, records):
                    # Its clients come back, and are told that what they have seen was lost.
                    self._drop(live)
                elif records and records[-1].seq > live.last_seq:
                    followed.has_news = True
                    self._publish(live, records)
        except StorageFailed as error:
            _logger.warning("run %s cannot be followed now: %s", live.row.id, error)
        except Exception:
            # One damaged log must not end the streams of others.
            _logger.exception("run %s cannot be followed", live.row.id)
            self._followed.pop(live.row.id, None)
            live.close()
        finally:
            followed.task = None

    async def _read_on(self, live: LiveRun) -> list[Record]:
        """Read the next records, behind the last one that was published, so that a log is noticed
        that has lost that record since, and got others."""
        records = await self._log.read(live.row.id, max(0, live.last_seq - 1), _PAGE_BYTES)
        is_full = len(records) == 1 and len(encode_record(records[0])) >= _PAGE_BYTES
        if is_full and records[0].seq == live.last_seq:
            return [*records, *await self._log.read(live.row.id, live.last_seq, _PAGE_BYTES)]
        return records

    def _drop(self, live: LiveRun) -> None:
        _logger.warning("the log of run %s has lost records", live.row.id)
        self._followed.pop(live.row.id, None)
        live.close()

    def _publish(self, live: LiveRun, records: Sequence[Record]) -> None:
        records = [record for record in records if record.seq > live.last_seq]
        if not records:
            return
        live.follow(records)
        last = records[-1].event
        if isinstance(last, RunClosed):
            self._followed.pop(live.row.id, None)
            live.close()
        else:
            self._on_rest(live, isinstance(last, RunSuspended) and last.reason == "input")

    async def _poll(self) -> None:
        """Ask for notifications, drop runs that nobody reads, and find what was not notified."""
        polls = 0
        while self._followed:
            for run_id, followed in list(self._followed.items()):
                if polls and not followed.live.has_watchers:
                    self.pop(run_id)
                    followed.live.close()
            try:
                await self._find_news(is_watching=polls % _WATCH_POLLS == 0)
            except StorageFailed as error:
                _logger.warning("runs of other servers cannot be followed now: %s", error)
            polls += 1
            await asyncio.sleep(_POLL_S)
        self._polling = None

    async def _find_news(self, *, is_watching: bool) -> None:
        run_ids = list(self._followed)
        ask = self._cluster.watch if is_watching else self._cluster.last_seqs
        last_seqs = await ask(run_ids)
        for run_id in run_ids:
            followed, last_seq = self._followed.get(run_id), last_seqs.get(run_id)
            if followed is None:
                continue
            if last_seq is None:
                # Its conversation was deleted.
                self.pop(run_id)
                followed.live.close()
            elif last_seq > followed.live.last_seq:
                self.wake([run_id])


def _contradicts(live: LiveRun, records: Sequence[Record]) -> bool:
    """Return whether the log has another record in the place of the last one that was published:
    a power cut has taken that one, and the server that took the run over goes on without it."""
    known = live.last_record
    if known is None or not records or not records[0].seq <= known.seq <= records[-1].seq:
        return False
    return records[known.seq - records[0].seq] != known
