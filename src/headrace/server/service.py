"""What all routes share: the database, the runs, the agents, and who is asking."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import msgspec
from starlette.requests import Request

from headrace.engine import Agent
from headrace.projections import thinking, ux
from headrace.projections.thinking import ThinkingProjection
from headrace.projections.ux import UXProjection
from headrace.server.database import Database
from headrace.server.folder import DataFolder
from headrace.server.frame import Encoding
from headrace.server.live import LiveRuns, Protocols
from headrace.server.log import SQLiteLog
from headrace.server.problem import Problem
from headrace.server.settings import Settings
from headrace.server.store import RunRow, SQLiteStore
from headrace.server.token import LOCAL, Tokens

_TIDY_S = 3600.0


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
        self.is_ready = False
        self._tidying: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Recover, then be ready."""
        await self.runs.recover()
        self._tidying = asyncio.create_task(self._tidy(), name="tidy")
        self.is_ready = True

    async def _tidy(self) -> None:
        """Forget records that nobody resumes any more; the messages stay."""
        while True:
            await self.expire()
            await asyncio.sleep(_TIDY_S)

    async def expire(self) -> int:
        """Forget the records of runs that ended long ago. Returns how many runs."""
        before_ms = self.clock() - int(self.settings.keep_logs_s * 1000)
        old = await self.store.closed_runs(before_ms)
        if old:
            await self.log.delete(old)
        return len(old)

    async def close(self) -> None:
        """Drain, then let go of the folder."""
        self.is_ready = False
        if self._tidying is not None:
            self._tidying.cancel()
        await self.runs.drain(self.settings.drain_s)
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

    def agent(self, name: str | None) -> tuple[str, Agent]:
        """The agent of that name, or the first. Raises a `Problem` for an unknown one."""
        if name is None:
            return next(iter(self.agents.items()))
        if name not in self.agents:
            raise Problem(422, "unknown_model", f"there are {', '.join(self.agents)}")
        return name, self.agents[name]


async def body_of(request: Request, kind: type[msgspec.Struct], max_bytes: int) -> msgspec.Struct:
    """The JSON of a request as a value. Raises a `Problem` that says what is wrong with it."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Problem(415, "not_json", "send Content-Type: application/json")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > max_bytes:
            raise Problem(413, "too_large", f"a request may have {max_bytes} bytes")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Problem(400, "bad_body", str(error)) from None


def _ux(row: RunRow) -> Encoding:
    return Encoding(UXProjection(row.message_id), ux.encode_frame)


def _thinking(row: RunRow) -> Encoding:
    return Encoding(ThinkingProjection(), thinking.encode_frame)


PROTOCOLS: Protocols = {"ux": _ux, "thinking": _thinking}
"""The first is what a client gets that asks for none."""
