"""Runs that clients read although nobody works on them here: they are suspended, or another server
works on them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from headrace.events import Record
from headrace.messages import fold
from headrace.server.runs.live_run import LiveRun, ProjectionOptions
from headrace.server.runs.waiting.follower import Follower
from headrace.server.storage.cluster import Cluster
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow


class WaitingRuns:
    """Keeps the streams of such runs open, and sends what other servers log.

    A stream of a suspended run is closed after `stream_s`; its client may come back and wait again.
    """

    def __init__(self, log: Log, options: ProjectionOptions, cluster: Cluster | None) -> None:
        self.stream_s = 300.0
        """Seconds that the stream of a suspended run stays open."""
        self._log = log
        self._options = options
        self._suspended: dict[str, LiveRun] = {}
        self._follower = None if cluster is None else Follower(log, cluster, self._set_timer)

    def open(self, row: RunRow, records: Sequence[Record]) -> LiveRun:
        """Return a run for a client that wants to read it. These are its records so far."""
        known = self._suspended.get(row.id)
        if known is not None:
            return known
        live = LiveRun(row, self._log, self._options)
        if records:
            live.last_record, live.last_seq = records[-1], records[-1].seq
        if self._follower is not None:
            return self._follower.follow(live, records)
        live.stored_message = fold(records)
        self._keep_suspended(live)
        return live

    async def keep(self, live: LiveRun) -> None:
        """Keep the streams of a run open that has been suspended here, if somebody reads it."""
        if not live.has_watchers:
            live.close()
        elif self._follower is None:
            self._keep_suspended(live)
        else:
            # Another server may go on with it.
            self._follower.follow(live, await self._log.read(live.row.id))

    def take(self, row: RunRow, last: Record) -> LiveRun | None:
        """Return a run that goes on here after its `last` record, with its streams. Returns None if
        nobody reads it, or if its streams have not ended with that record: they are closed, and
        their clients come back."""
        live = self._pop(row.id)
        if live is not None and live.last_record != last:
            live.close()
            return None
        return live

    def wake(self, run_ids: Sequence[str]) -> None:
        """Read the new records of runs that other servers work on; of all of them, if none is
        named."""
        if self._follower is not None:
            self._follower.wake(run_ids)

    def close(self) -> None:
        """End the streams of runs that other servers work on: this one stops."""
        if self._follower is not None:
            self._follower.close()

    def _keep_suspended(self, live: LiveRun) -> None:
        self._suspended[live.row.id] = live
        self._set_timer(live, is_suspended=True)

    def _set_timer(self, live: LiveRun, is_suspended: bool) -> None:
        """Limit the time that clients wait for a suspended run."""
        if live.closer is not None:
            live.closer.cancel()
            live.closer = None
        if is_suspended:
            loop = asyncio.get_running_loop()
            live.closer = loop.call_later(self.stream_s, self._close_streams, live.row.id)

    def _close_streams(self, run_id: str) -> None:
        live = self._pop(run_id)
        if live is not None:
            live.close()

    def _pop(self, run_id: str) -> LiveRun | None:
        live = self._suspended.pop(run_id, None)
        if live is None and self._follower is not None:
            live = self._follower.pop(run_id)
        return live
