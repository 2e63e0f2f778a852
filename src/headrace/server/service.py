"""What all routes share: the database, the runs, the agents, and who is asking."""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing

import msgspec
from starlette.requests import Request

from headrace.encoders import Effort
from headrace.engine import Agent
from headrace.events import Record
from headrace.server.http_error import Problem
from headrace.server.protocol import PROTOCOLS
from headrace.server.runs.live_runs import LiveRuns
from headrace.server.runs.quota import Room
from headrace.server.runs.recovery import UNSAVED, Recovery, missing
from headrace.server.runs.stored_frames import pages
from headrace.server.settings import Settings
from headrace.server.storage.access_tokens import LOCAL, Tokens
from headrace.server.storage.data_folder import DataFolder
from headrace.server.storage.database import Database, StorageFailed
from headrace.server.storage.log import SQLiteLog
from headrace.server.storage.store import RunRow, SQLiteStore

_TIDY_S = 3600.0
_MEND_S = 5.0
# Runs, in one transaction: those that go on wait for it.
_EXPIRED_AT_ONCE = 16
_logger = logging.getLogger("headrace.server")


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return int(time.time() * 1000)


class Service:
    """A server without its routes. `open()` recovers what a server before it has left."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        settings: Settings,
        *,
        clock: Callable[[], int] = now_ms,
        address: str = "",
    ) -> None:
        self.agents = dict(agents)
        self.settings = settings
        self.clock = clock
        self._folder = DataFolder(settings.data, address=address)
        self.database = Database(self._folder.database, is_durable=settings.is_durable)
        self.store = SQLiteStore(self.database)
        self.log = SQLiteLog(self.database)
        self.tokens = Tokens(self.database)
        self.runs = LiveRuns(self.log, self.store, PROTOCOLS)
        self.room = Room(settings, self.runs)
        self._recovery = Recovery(self.log, self.store)
        self.is_ready = False
        self._opening: asyncio.Task[None] | None = None
        self._chores: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> None:
        await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Recover, then be ready. Whoever comes while another opens it waits for that one; what
        failed is tried again by the next."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="open")
        opening = self._opening
        try:
            await asyncio.shield(opening)
        finally:
            if opening.done() and (opening.cancelled() or opening.exception() is not None):
                self._opening = None

    async def _open(self) -> None:
        for agent in self.agents.values():
            agent.share_connections()
        await self._recovery.recover()
        chores = ((self.expire, _TIDY_S), (self.mend, _MEND_S))
        self._chores = [asyncio.create_task(_repeated(*chore)) for chore in chores]
        self.is_ready = True

    async def mend(self) -> int:
        """Save the answers that could not be saved when they ended. Returns how many."""
        return await self._recovery.mend(self.room.taken)

    async def kept(self, run: RunRow) -> AsyncGenerator[list[Record], None]:
        """The records of a run that nobody works at. Where its end could not be written, it is
        told all the same: `mend` will write the like."""
        if run.is_live:
            records = await self.log.read(run.id)
            yield [*records, *missing(run, records, UNSAVED, "save_failed")]
            return
        async with aclosing(pages(self.log, run.id)) as kept:
            async for page in kept:
                yield page

    async def expire(self) -> int:
        """Forget the records of runs that ended long ago. Returns how many runs."""
        before_ms = self.clock() - int(self.settings.keep_logs_s * 1000)
        old = await self.store.closed_runs(before_ms)
        for start in range(0, len(old), _EXPIRED_AT_ONCE):
            some = old[start : start + _EXPIRED_AT_ONCE]
            await self.log.delete(some)
            await self.store.mark_expired(some)
        return len(old)

    async def close(self) -> None:
        """Drain, then let go of the folder."""
        self.is_ready = False
        for chore in self._chores:
            chore.cancel()
        await self.runs.drain(self.settings.drain_s)
        for agent in self.agents.values():
            await agent.aclose()
        self.database.close()
        self._folder.close()

    async def owner(self, request: Request) -> str:
        """Who is asking. Raises a `Problem` of 401 for nobody we know."""
        if not self.settings.needs_token:
            return LOCAL
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        owner = await self.tokens.owner_of(token.strip()) if scheme.lower() == "bearer" else None
        if owner is None:
            raise Problem(401, "no_token", "send Authorization: Bearer with a token of this server")
        return owner

    def agent(self, name: str | None, effort: Effort | None = None) -> tuple[str, Agent]:
        """The agent of that name, or the first, with that effort. Raises a `Problem` for what
        there is not."""
        if name is None:
            name = next(iter(self.agents))
        if name not in self.agents:
            raise Problem(422, "unknown_model", f"there are {', '.join(self.agents)}")
        if effort is not None and effort not in self.settings.efforts:
            raise Problem(422, "unknown_effort", f"there are {', '.join(self.settings.efforts)}")
        return name, _with_effort(self.agents[name], effort)


def _with_effort(agent: Agent, effort: Effort | None) -> Agent:
    if effort is None:
        return agent
    changed = copy.copy(agent)
    changed.options = msgspec.structs.replace(agent.options, effort=effort)
    return changed


async def _repeated(chore: Callable[[], Awaitable[object]], pause_s: float) -> None:
    while True:
        try:
            await chore()
        except StorageFailed as error:
            _logger.warning("the database does not answer: %s", error)
        except Exception:
            # The edge of a task that must not end: what it has not done it does the next time.
            _logger.exception("a chore failed")
        await asyncio.sleep(pause_s)
