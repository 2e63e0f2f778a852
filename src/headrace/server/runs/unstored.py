"""Runs with their log in memory, for clients that cannot come back: when the client leaves, its run
ends. Only a row with the usage is stored."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, TypeAlias

from headrace.engine import AlreadyAnswered, Run
from headrace.errors import RequestFailed, UsageError
from headrace.events import (
    HistoryCompacted,
    InputAnswered,
    InputRequested,
    Record,
    RunFailed,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TurnFailed,
    TurnFinished,
)
from headrace.log import get_logger
from headrace.messages import Message, fold
from headrace.outcome import ErrorCategory
from headrace.readers import IncomingRequest
from headrace.server.http_error import DoorError, HTTPError
from headrace.server.runs.offer import Offer
from headrace.server.runs.quota import Quota
from headrace.server.runs.watchers import Watchers
from headrace.server.storage.access_tokens import User
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.storage import UsageCount
from headrace.server.storage.usage.usage_table import UsageRow
from headrace.tools.left_behind import CURRENT_CALLS, LeftBehindByUser
from headrace.transport.tee import ByteTee
from headrace.turn.record_stream import RecordStream
from headrace.turn.turn_stream import TurnStream
from headrace.usage import Usage

_logger = get_logger("server")
# An answer that has only these events has not begun.
_BEFORE_ANSWER = (RunStarted, HistoryCompacted, StepStarted, StepFinished)
_DRAIN_POLL_S = 0.02
_ENDS = (RunFinished, RunFailed, TurnFinished, TurnFailed)
_DENIED = "nobody can be asked here: this API has no way to approve calls or to answer questions"
STATUS: dict[ErrorCategory, int] = {
    # The key of the operator was refused, not that of the client.
    "auth": 502,
    "permission": 502,
    "rate_limit": 429,
    "invalid_request": 400,
    "not_found": 404,
    "context_overflow": 400,
    "content_filter": 400,
    "overloaded": 503,
    "server": 502,
    "timeout": 504,
    "network": 502,
    "incomplete": 502,
    "protocol": 502,
    "storage": 503,
    "invalid_output": 502,
    "interrupted": 503,
    "unknown": 502,
}
"""The HTTP status of an answer that failed before it began, by the category of its error."""


AskClient: TypeAlias = Callable[[Run[Any], InputRequested], None]
"""Called when a run asks for input. It must not wait; the answer is given with `Run.answer()`."""


class UnstoredRun:
    """A run with its log in memory, which has begun to answer.

    Read it with `next_batch()`, and call `aclose()` at the end in any case.
    """

    def __init__(
        self,
        run_id: str,
        stream: RecordStream[Any],
        asked: IncomingRequest,
        ask: AskClient | None = None,
    ) -> None:
        self.id = run_id
        self._ask = ask
        self.asked = asked
        self.tee: ByteTee | None = getattr(stream, "tee", None)
        """The bytes of the provider, if they can be passed on unchanged."""
        self._sent = 0
        self.records: list[Record] = []
        """The records that have been read so far."""
        self.cleanup = AsyncExitStack()
        """What is to be done at the end."""
        self._stream = stream
        self._run: Run[Any] | None = stream if isinstance(stream, Run) else None
        self._beginning: asyncio.Task[None] | None = None
        self._reader: asyncio.Task[Any] | None = None
        self._interruption: str | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the run has asked for input that it has not got."""
        asked = sum(isinstance(record.event, InputRequested) for record in self.records)
        given = sum(isinstance(record.event, InputAnswered) for record in self.records)
        return asked > given

    @property
    def is_run(self) -> bool:
        """Whether it is the run of an agent, and not a single turn."""
        return self._run is not None

    @property
    def message(self) -> Message:
        """The answer so far."""
        return fold(self.records)

    @property
    def usage(self) -> Usage:
        """The usage so far, estimated if the answer was left before its end."""
        stream = self._stream
        if isinstance(stream, TurnStream):
            return stream.usage
        # A run that was left has gone on to its end, which nobody has read.
        return self.message.usage if self._run is None else self._run.message.usage

    @property
    def end(self) -> RunFinished | RunFailed | TurnFinished | TurnFailed | None:
        """The last event, or None if the answer is not complete."""
        event = self.records[-1].event if self.records else None
        # A run goes on after the end of a turn.
        is_turn_of_run = self._run is not None and isinstance(event, TurnFinished | TurnFailed)
        return event if isinstance(event, _ENDS) and not is_turn_of_run else None

    async def begin(self, patience_s: float | None = None) -> None:
        """Wait until the model begins to answer, but no longer than `patience_s`. Raises an
        `HTTPError` if it refuses by then; a later refusal becomes the last record."""
        self._beginning = asyncio.create_task(self._begin())
        await asyncio.wait({self._beginning}, timeout=patience_s)
        if not self._beginning.done():
            return
        await self._end_beginning()
        end = self.end
        if isinstance(end, TurnFailed):
            raise to_door_error(end.category, end.message, end.retry_after_s)
        if isinstance(end, RunFailed):
            raise to_door_error(end.category, end.message)

    async def _begin(self) -> None:
        try:
            await self.cleanup.enter_async_context(self._stream)
            while all(isinstance(record.event, _BEFORE_ANSWER) for record in self.records):
                if not await self._read():
                    break
        except RequestFailed as refused:
            self._fail(refused.category, str(refused), refused.retry_after_s)

    async def _end_beginning(self) -> None:
        """Wait until the answer has begun, or has failed."""
        if self._beginning is None:
            return
        try:
            await self._beginning
        except asyncio.CancelledError:
            reader = asyncio.current_task()
            if self._interruption is None or (reader is not None and reader.cancelling()):
                raise
            self._fail("interrupted", self._interruption)
        self._beginning = None

    async def next_batch(self) -> list[Record]:
        """Wait for the next records, from the first one on. Returns an empty list at the end."""
        await self._end_beginning()
        if self._sent == len(self.records) and self.end is None:
            await self._read_or_fail()
        start, self._sent = self._sent, len(self.records)
        return self.records[start:]

    async def _read_or_fail(self) -> None:
        """Wait for the next records, or for an interruption, which becomes the last record."""
        self._reader = reader = asyncio.current_task()
        try:
            if self._interruption is None:
                await self._read()
        except asyncio.CancelledError:
            if self._interruption is None or reader is None:
                raise
            reader.uncancel()
        finally:
            self._reader = None
        if self._interruption is not None and self.end is None:
            self._fail("interrupted", self._interruption)

    def _fail(
        self, category: ErrorCategory, message: str, retry_after_s: float | None = None
    ) -> None:
        """Add the record of a turn that failed."""
        last = self.records[-1] if self.records else None
        at_ms = time.time_ns() // 1_000_000 if last is None else last.at_ms
        failed = TurnFailed(category=category, message=message, retry_after_s=retry_after_s)
        self.records.append(Record(len(self.records) + 1, at_ms, failed))

    async def _read(self) -> list[Record]:
        batch = await self._stream.next_records()
        self.records += batch
        if self._run is not None:
            _ask_client(self._run, batch, self._ask or _deny)
        return batch

    def interrupt(self, why: str) -> None:
        """End the answer as failed, because the server is stopping."""
        if self._run is not None:
            self._run.interrupt(why)
        elif self._interruption is None:
            self._interruption = why
            task = self._beginning or self._reader
            if task is not None:
                task.cancel()

    async def aclose(self) -> None:
        """End the run if it goes on, and store its usage. May be called again."""
        beginning, self._beginning = self._beginning, None
        if beginning is not None:
            beginning.cancel()
            await asyncio.gather(beginning, return_exceptions=True)
        await self.cleanup.aclose()


class UnstoredRuns:
    """All runs of this server whose log is in memory."""

    def __init__(
        self,
        quota: Quota,
        watchers: Watchers,
        usage: UsageCount,
        count_use: Callable[[User], Awaitable[None]],
        clock: Callable[[], int],
        patience_s: float,
        left_behind: LeftBehindByUser,
    ) -> None:
        self._left_behind = left_behind
        self._quota = quota
        self._watchers = watchers
        self._usage = usage
        self._count_use = count_use
        self._clock = clock
        self._patience_s = patience_s
        self._runs: set[UnstoredRun] = set()
        self.on_turn: Callable[[str, str, Sequence[Record], int], None] | None = None
        """Called at the end of a turn without a run, with its id, the model, the records and the
        time of its start."""

    @property
    def count(self) -> int:
        """Number of runs that are going on."""
        return len(self._runs)

    async def start(
        self,
        user: User,
        door: str,
        offer: Offer,
        asked: IncomingRequest,
        ask: AskClient | None = None,
    ) -> UnstoredRun:
        """Ask, and wait until the model begins to answer. `door` is the name of the protocol.
        `ask` is called when the run asks for input; without it, what a run asks for is denied.

        A stream begins without an answer if the model thinks for too long, because proxies close
        connections without traffic. Raises an `HTTPError` if the request cannot be made or is
        refused.
        """
        self._quota.count_request(user.owner)
        await self._count_use(user)
        CURRENT_CALLS.set(self._left_behind.of(user.owner))
        run_id = f"run_{uuid.uuid4().hex}"
        try:
            stream = offer.open(asked, run_id=run_id, user=user.owner)
        except UsageError as error:
            raise DoorError(400, "cannot_ask", str(error)) from None
        run = UnstoredRun(run_id, stream, asked, ask)
        started_ms = self._clock()
        try:
            watcher = self._watchers.enter(user)
            watcher.stop = lambda: run.interrupt("the access token was revoked")
            run.cleanup.callback(watcher.leave)
            run.cleanup.enter_context(self._quota.reserve(user.owner, run_id))
            self._runs.add(run)
            run.cleanup.callback(self._runs.discard, run)
            report = partial(self._report, run, user, door, offer, started_ms)
            run.cleanup.push_async_callback(report)
            await run.begin(self._patience_s if asked.is_stream else None)
        except BaseException:
            await run.aclose()
            raise
        return run

    async def _report(
        self, run: UnstoredRun, user: User, door: str, offer: Offer, started_ms: int
    ) -> None:
        """Store the usage of a run. The answer does not depend on it."""
        if self.on_turn is not None and not run.is_run and run.records:
            self.on_turn(run.id, offer.model, run.records, started_ms)
        row = UsageRow.create(
            owner=user.owner,
            door=door,
            name=offer.name,
            model=offer.model,
            usage=run.usage,
            started_ms=started_ms,
            ended_ms=self._clock(),
            outcome=_outcome_of(run.end),
            quota_id=user.quota_id,
        )
        try:
            await self._usage.add(row)
        except StorageFailed as error:
            _logger.warning("the usage of run %s cannot be stored: %s", run.id, error)

    async def drain(self, grace_s: float) -> None:
        """Let the runs finish for `grace_s`, then interrupt them. Those that wait for an answer are
        interrupted at once: a server that stops takes none."""
        for run in [run for run in self._runs if run.is_waiting]:
            run.interrupt("the server is stopping")
        deadline_s = time.monotonic() + grace_s
        while self._runs and time.monotonic() < deadline_s:
            await asyncio.sleep(_DRAIN_POLL_S)
        for run in list(self._runs):
            run.interrupt("the server is stopping")


def _ask_client(run: Run[Any], batch: Sequence[Record], ask: AskClient) -> None:
    """Pass on what the run asks a person for."""
    for record in batch:
        if isinstance(record.event, InputRequested):
            ask(run, record.event)


def _deny(run: Run[Any], event: InputRequested) -> None:
    # Another part of the program may have answered.
    with suppress(AlreadyAnswered):
        run.answer(event.request_id, "denied", reason=_DENIED)


def _outcome_of(end: object) -> str:
    """Return the word for the end of a run in the table of usage."""
    match end:
        case RunFailed() | TurnFailed():
            return end.category
        case RunFinished() | TurnFinished():
            return end.reason.word
        case _:
            return "left"


def to_door_error(
    category: ErrorCategory, message: str, retry_after_s: float | None = None
) -> HTTPError:
    """Return the error that a client is told when a provider refuses its request."""
    more = {} if retry_after_s is None else {"retry_after_s": retry_after_s}
    # What a provider does not find is the model.
    code = "model_not_found" if category == "not_found" else category
    return DoorError(STATUS[category], code, message, **more)
