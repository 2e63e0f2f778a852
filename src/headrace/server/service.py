"""The service behind the routes: storage, live runs, agents and users."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import HTTPConnection, Request

from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.events import Record
from headrace.log import get_logger
from headrace.mcp import MCPOffer
from headrace.server.accounts.identity import Identity
from headrace.server.accounts.sign_ins import SignIns
from headrace.server.budgets.response_budget import ResponseBudget
from headrace.server.budgets.upload_budget import UploadBudget
from headrace.server.chores.run_chores import RunChores
from headrace.server.chores.user_chores import UserChores
from headrace.server.gateway import Gateway
from headrace.server.http_error import DoorError
from headrace.server.models import Models
from headrace.server.runs.live_runs import LiveRuns
from headrace.server.runs.quota import Quota
from headrace.server.runs.recovery import Recovery
from headrace.server.runs.subscription import frames
from headrace.server.runs.titles.title_writer import TitleWriter
from headrace.server.runs.unstored import UnstoredRuns
from headrace.server.runs.waiting.follow_ups import FollowUps
from headrace.server.runs.watchers import Watchers
from headrace.server.settings import Settings
from headrace.server.sse import NOTHING_SEEN, SeenFrame, View
from headrace.server.storage.access_tokens import LOCAL_USER, Scope, User
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.files import Files
from headrace.server.storage.log import Log
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite_storage import SQLiteStorage
from headrace.server.storage.storage import Storage
from headrace.server.storage.store import InboxEntry, RunRow, Store
from headrace.server.storage.usage.limits import CountedLimits

if TYPE_CHECKING:
    from headrace.otel import Telemetry

_EXPIRE_INTERVAL_S = 3600.0
_REPAIR_INTERVAL_S = 5.0
_TAKE_OVER_INTERVAL_S = 2.0
_HOUSEKEEPING_INTERVAL_S = 1.0
_DELETE_INTERVAL_S = 2.0
_REVOKED_INTERVAL_S = 0.5
_EXPIRE_REQUESTS_INTERVAL_S = 60.0
_logger = get_logger("server")


def now_ms() -> int:
    """Return the milliseconds since 1970."""
    return int(time.time() * 1000)


class Service:
    """A server without its routes.

    Use it with `async with`, or `open()` and `close()` it. Opening closes the runs that a killed
    server has left.
    """

    mcp_offer: MCPOffer | None = None
    """What MCP clients can use beside the agents."""

    def __init__(  # noqa: PLR0913 (what a server consists of)
        self,
        agents: Mapping[str, Agent],
        settings: Settings,
        *,
        clock: Callable[[], int] = now_ms,
        address: str = "",
        log: Log | None = None,
        store: Store | None = None,
        storage: Storage | None = None,
        gateway: Gateway | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        if (log is None) != (store is None):
            raise UsageError("give both a log and a store, or none of them")
        self.agents = dict(agents)
        self.models = Models(self)
        self.settings = settings
        self.clock = clock
        self.storage = storage or SQLiteStorage(
            settings.data,
            clock,
            is_durable=settings.is_durable,
            address=address,
            log=log,
            store=store,
        )
        self.store = self.storage.store
        self.log = self.storage.log
        self.access_tokens = self.storage.access_tokens
        self._configure_users()
        self.cluster = self.storage.cluster
        self.runs = LiveRuns(
            self.log,
            self.store,
            settings.projection_options,
            has_users=settings.has_users,
            cluster=self.cluster,
        )
        self._configure_runs()
        self.quota = Quota(settings, self.runs)
        self.watchers = Watchers(settings)
        self.usage = self.storage.usage
        self.gateway = gateway
        self.telemetry = telemetry
        self._configure_unstored_runs()
        self.uploads = UploadBudget()
        self.files: Files = self.storage.files
        """Uploads that are not yet part of a message."""
        self.response_budget = ResponseBudget(settings.send_timeout_s)
        self._recovery = Recovery(self.log, self.store, self.runs.claim, self._emit_lost)
        self.is_ready = False
        self.on_close: list[Callable[[], Awaitable[None]]] = []
        """Called when the service is closed, before the storage is."""
        self._opening: asyncio.Task[None] | None = None
        self._chores: list[asyncio.Task[Any]] = []
        self._waking: set[asyncio.Task[None]] = set()

    def _configure_unstored_runs(self) -> None:
        self.unstored = UnstoredRuns(
            self.quota,
            self.watchers,
            self.usage,
            self.count_use,
            self.clock,
            self.settings.heartbeat_s,
            self.runs.left_behind,
        )
        if self.telemetry is not None:
            self.unstored.on_turn = self.telemetry.record_turn

    def _configure_users(self) -> None:
        self.accounts = self.storage.accounts
        self.identity = Identity(self.settings, self.storage, self.clock)
        needs_sign_in = self.settings.needs_sign_in
        self.sign_ins = SignIns(self.accounts, self.clock) if needs_sign_in else None
        self.user_chores = UserChores(self)

    def _configure_runs(self) -> None:
        self.titles: TitleWriter | None = None
        self.run_chores = RunChores(self)
        self._follow_ups = FollowUps(self)
        self.runs.find_agent = self.models.restore_agent
        self.runs.on_end = self._follow_ups.ask_left
        self.runs.continues = self.settings.on_interrupt == "continue"
        self.runs.waiting.stream_s = self.settings.waiting_stream_s

    @property
    def database(self) -> Database:
        """The SQLite file. Raises `UsageError` if the server stores its data elsewhere."""
        if not isinstance(self.storage, SQLiteStorage):
            raise UsageError("this server does not store its data in SQLite")
        return self.storage.database

    async def __aenter__(self) -> None:
        await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Close the runs of a killed server, then become ready.

        Concurrent calls wait for the same attempt. After an error, the next call tries again.
        """
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="open")
        opening = self._opening
        try:
            await asyncio.shield(opening)
        finally:
            if opening.done() and (opening.cancelled() or opening.exception() is not None):
                self._opening = None

    async def _open(self) -> None:
        await self.storage.open()
        for agent in self.agents.values():
            agent.share_connections()
        if self.cluster is not None:
            await self.cluster.open(self._wake, self.runs.waiting.wake)
            await self.take_over()
        elif self.runs.continues:
            for row in await self.store.live_runs():
                await self._resume(row)
        else:
            await self._recovery.recover()
        await self.take_entries()
        chores = (
            (self.run_chores.expire_requests, _EXPIRE_REQUESTS_INTERVAL_S),
            (self.run_chores.expire_records, _EXPIRE_INTERVAL_S),
            (self.run_chores.expire_files, _EXPIRE_INTERVAL_S),
            (self.run_chores.expire_counts, _EXPIRE_INTERVAL_S),
            (self.user_chores.expire_sign_ins, _EXPIRE_INTERVAL_S),
            (self.user_chores.expire_conversations, _EXPIRE_INTERVAL_S),
            (self.user_chores.delete_users, _DELETE_INTERVAL_S),
            (self.repair, _REPAIR_INTERVAL_S),
            (self.take_over, _TAKE_OVER_INTERVAL_S),
            (self.storage.clean_up, _HOUSEKEEPING_INTERVAL_S),
            (self.end_revoked_streams, _REVOKED_INTERVAL_S),
        )
        self._chores = [asyncio.create_task(_repeat(*chore)) for chore in chores]
        # The first question need not wait for MCP servers to start.
        self._chores += [
            asyncio.create_task(source.list_tools())
            for agent in self.agents.values()
            for source in agent.tools.sources
        ]
        self.is_ready = True

    # -- runs that wait, and questions that wait for a run

    def _emit_lost(self, row: RunRow, records: Sequence[Record]) -> None:
        """Record the spans of a run that a killed server has left, and that was closed."""
        if self.telemetry is not None:
            self.telemetry.emit_lost(row.model, records)

    async def _resume(self, row: RunRow) -> None:
        try:
            await self.runs.resume(row)
        except StorageFailed as error:
            _logger.warning("run %s cannot be continued yet: %s", row.id, error)
        except Exception:  # one damaged log must not keep the server from starting
            _logger.exception("run %s cannot be continued", row.id)

    async def add_entry(self, run: RunRow, entry: InboxEntry) -> InboxEntry:
        """Store an entry of a run's inbox, and let the run take it. Returns the entry that counts:
        that with the same id, or the first answer to the same request."""
        counted = await self.store.add_entry(entry)
        await self.runs.wake(run)
        if counted.kind in ("steer", "queue"):
            row = await self.store.find_run(run.owner, run.id)
            if not row.is_live:
                # It has ended between the client's request and this one.
                await self._follow_ups.ask_left(row)
        return counted

    async def take_entries(self) -> None:
        """Continue runs whose inbox a killed server has not looked at."""
        for row in await self.store.runs_with_entries():
            if row.is_live:
                await self.runs.wake(row)
            else:
                await self._follow_ups.ask_left(row)

    async def frames(
        self, run: RunRow, view: View, seen: SeenFrame = NOTHING_SEEN
    ) -> AsyncIterator[list[bytes]]:
        """Return batches of the frames after `seen`, whether the run is live or over.

        Raises an `HTTPError` of 410 if they have expired, or if there is no such frame.
        """
        await self.quota.wait_for_start(run.id)
        return await frames(self.runs, self.log, run, view, seen)

    async def find_problem(self) -> str:
        """Return why requests cannot be served now, or an empty string.

        The storage is checked with a write, at most once per second.
        """
        if not self.is_ready:
            return "the server is starting or stopping"
        if self.runs.is_draining:
            return "the server is stopping"
        return await self.storage.find_problem()

    async def repair(self) -> int:
        """Save the answers that could not be saved when they ended; return how many."""
        if self.cluster is None:
            return await self._recovery.repair(self.quota.active_run_ids)
        told = set(self.runs.saver.unsaved)
        left = await self._recovery.repair(self.quota.active_run_ids, told)
        if not left:
            self.runs.saver.unsaved -= told
        return left

    async def take_over(self) -> None:
        """End the runs that no server works on, or go on with them: their server is gone, or the
        reply to a claim was lost. Look at inboxes, in case a notification was lost. Does nothing if
        no other server shares the storage."""
        if self.cluster is None:
            return
        for run_id in await self.cluster.runs_to_wake():
            await self.runs.wake_by_id(run_id)
        await self.take_entries()
        for row in await self.store.live_runs():
            if row.id not in self.runs.saver.unsaved and row.id not in self.quota.active_run_ids():
                await self.runs.take_over(row)

    def _wake(self, run_id: str) -> None:
        """Let a run take what another server has stored in its inbox."""
        task = asyncio.ensure_future(self._try_to_wake(run_id))
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)

    async def _try_to_wake(self, run_id: str) -> None:
        try:
            await self.runs.wake_by_id(run_id)
        except StorageFailed as error:
            _logger.warning("the inbox of run %s cannot be read now: %s", run_id, error)

    async def close(self) -> None:
        """Drain the live runs, then release the data folder."""
        self.is_ready = False
        for chore in self._chores:
            chore.cancel()
        drain_s = self.settings.drain_s
        await asyncio.gather(self.runs.drain(drain_s), self.unstored.drain(drain_s))
        if self.titles is not None:
            await self.titles.aclose()
        await asyncio.gather(*self._chores, return_exceptions=True)
        for close in self.on_close:
            await close()
        for agent in self.agents.values():
            await agent.aclose()
        if self.gateway is not None:
            await self.gateway.aclose()
        if self.cluster is not None:
            await self.cluster.close()
        if self.sign_ins is not None:
            self.sign_ins.close()
        await self.storage.close()

    async def owner(self, request: Request) -> str:
        """Return the name of the user of a request; see `user()`."""
        return (await self.user(request)).owner

    async def user(self, request: HTTPConnection, scope: Scope = "chat") -> User:
        """Return the user of a request.

        Raises an `HTTPError` of 401 for a request that names no user or a wrong one, and of 403 for
        a user who may not do what the scope says.
        """
        user = await self.identity.find_user(request, scope)
        # For the log of requests.
        request.scope.setdefault("state", {})["user"] = user.owner
        return user

    async def end_revoked_streams(self) -> None:
        """End the streams whose access tokens or sign-ins have ended, and those of disabled users,
        by this process or another."""
        users = self.watchers.users - {LOCAL_USER}
        if users:
            self.watchers.stop_all(await self.identity.find_refused(users))

    async def count_use(self, user: User) -> None:
        """Count a request of a user. Raises an `HTTPError` of 429 if one of the limits of the
        access token, or of the gateway for the user, is used up."""
        counted = [] if user.quota is None else [CountedLimits(user.quota.key, user.quota.limits)]
        if self.gateway is not None and not self.gateway.limits_of(user).is_unlimited:
            counted.append(CountedLimits(user.owner, self.gateway.limits_of(user)))
        used_up = await self.usage.count_request(counted, self.clock()) if counted else None
        if used_up is not None:
            text = f"you have used up {used_up.limit}"
            raise DoorError(429, "quota_exceeded", text, retry_after_s=used_up.wait_s)


async def _repeat(chore: Callable[[], Awaitable[object]], pause_s: float) -> None:
    while True:
        try:
            await chore()
        except StorageFailed as error:
            _logger.warning("the database failed: %s", error)
        except Exception:
            # The task must not end: the next round tries again.
            _logger.exception("a background task failed")
        await asyncio.sleep(pause_s)
