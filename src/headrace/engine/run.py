"""One run of an agent: enter it, read its records, and ask what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Self

import msgspec

from headrace.engine.cancellation import CancelToken
from headrace.engine.journal.journal import Journal
from headrace.engine.journal.sink import Sink, SinkFailed
from headrace.engine.loop import End, Loop, RunBroken
from headrace.engine.middleware.middleware import RunView
from headrace.engine.run_config import Plan
from headrace.errors import HeadraceError, Terminate, UsageError
from headrace.events import Record, RunFailed, RunFinished
from headrace.messages import Message
from headrace.outcome import ErrorInfo, FinishReason, abort_reason
from headrace.secrets.scrub import scrub
from headrace.shield import run_shielded
from headrace.transport.loop_thread import LoopThread, shared_loop
from headrace.usage import Usage


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to. One of `finish` and `error` is set."""

    message: Message
    finish: FinishReason | None = None
    error: ErrorInfo | None = None
    usage: Usage = Usage()

    @property
    def text(self) -> str:
        """What the model said after its last call: the answer."""
        return self.message.turns[-1].text if self.message.turns else ""


class Run:
    """A run that starts when it is entered: `async with agent.run(…) as run`, or `with`.

    Iterate over it for its records. Leaving the block before the end cancels the run and
    waits until nothing of it is left; the terminal record is in `records` then.
    """

    def __init__(
        self,
        plan: Plan,
        asked: tuple[Message, ...],
        run_id: str,
        clock: Callable[[], float],
        sink: Sink | None,
        token: CancelToken | None = None,
    ) -> None:
        self.run_id = run_id
        self._plan = plan
        self._asked = asked
        self._view = RunView(run_id, plan.model.name)
        self._journal = Journal(self._view, plan.chain, clock, sink)
        self._late_failure: HeadraceError | None = None
        self._rest: list[Record] = []
        self._token = token
        self._abort: FinishReason | None = None
        self._interruption: str | None = None
        self._has_begun = False
        self._is_ending = False
        # Whether middleware has ended it, and so need not be heard a second time.
        self._was_stopped = False
        self._task: asyncio.Task[None] | None = None
        self._event_loop: asyncio.AbstractEventLoop | None = None
        self._thread: LoopThread | None = None
        self._sync: Iterator[Record] | None = None

    # -- waiting

    async def __aenter__(self) -> Self:
        if self._task is not None:
            raise UsageError("a run can be entered once: ask the agent for another")
        self._event_loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._live(), name=f"run {self.run_id}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel("the caller left the run")
        await self._over()
        late = self._late_failure
        if late is not None and error is None and not self._was_stopped:
            raise late

    def __aiter__(self) -> AsyncIterator[Record]:
        """The records; a second loop goes on where the first was left."""
        return self._read()

    async def _read(self) -> AsyncIterator[Record]:
        if self._task is None:
            raise UsageError("enter the run before you read it: (async) with … as run")
        while batch := await self._batch():
            while batch:
                yield batch.pop()

    async def _batch(self) -> list[Record]:
        """The records that wait, the next one last."""
        if not self._rest:
            self._rest = (await self._journal.outbox.get())[::-1]
        return self._rest

    async def wait(self) -> Result:
        """Wait for the end, whether somebody reads or not."""
        if self._task is None:
            raise UsageError("enter the run before you wait for it: async with … as run")
        self._journal.outbox.let_go()
        # As `asyncio.wait` does, at a third of its size: a server has one of these for each run.
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task.add_done_callback(partial(_tell, over))
        await over
        return self.result

    def hand_to(self, take: Callable[[list[Record]], None]) -> None:
        """Have the records handed over as they are written, in place of reading them; the run
        keeps none but the latest then. `take` must not raise. Before the run is entered."""
        if self._task is not None:
            raise UsageError("say who takes the records before you enter the run")
        self._journal.book.keeps_records = False
        self._journal.outbox.take = take

    # -- not waiting: the same, on a loop of its own thread

    def __enter__(self) -> Self:
        self._thread = shared_loop()
        self._thread.run(self.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._thread is not None
        self._thread.run(self.__aexit__(kind, error, traceback))

    def __iter__(self) -> Iterator[Record]:
        """The records; a second loop goes on where the first was left."""
        if self._thread is None:
            raise UsageError("enter the run before you read it: with … as run")
        if self._sync is None:
            self._sync = self._read_sync(self._thread)
        return self._sync

    def _read_sync(self, thread: LoopThread) -> Iterator[Record]:
        for batch in thread.iterate(self._batches()):
            yield from batch

    async def _batches(self) -> AsyncIterator[list[Record]]:
        while batch := await self._journal.outbox.get():
            yield batch

    # -- ending it

    def cancel(self, detail: str = "cancelled by the caller") -> None:
        """End the run as soon as it can be; what came stands. From any thread, and at any
        moment: one that has not begun ends as soon as it does."""
        self._on_loop(self._stop, abort_reason("cancelled", detail))

    def interrupt(self, why: str) -> None:
        """End it as failed, as soon as it can be: whoever runs it is stopping."""
        self._interruption = self._interruption or why
        self._on_loop(self._stop, abort_reason("terminated", why))

    def _on_loop(self, work: Callable[[FinishReason], None], reason: FinishReason) -> None:
        loop = self._event_loop
        try:
            is_here = loop is None or loop is asyncio.get_running_loop()
        except RuntimeError:
            is_here = loop is None
        if is_here or loop is None:
            work(reason)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(work, reason)

    def _stop(self, reason: FinishReason) -> None:
        """The first reason counts, but a person's wins over a clock's."""
        if self._task is not None and self._task.done():
            return
        if self._abort is None or (self._abort.kind == "timeout" and reason.kind == "cancelled"):
            is_first = self._abort is None
            self._abort = reason
            self._journal.outbox.let_go()
            if is_first and self._task is not None and self._has_begun and not self._is_ending:
                self._task.cancel()

    async def _over(self) -> None:
        """Wait for the task, also while the caller itself is cancelled."""
        assert self._task is not None
        cancelled: asyncio.CancelledError | None = None
        while not self._task.done():
            try:
                await asyncio.shield(self._task)
            except asyncio.CancelledError as error:
                cancelled = error
                if self._task.cancelled():
                    break
        if cancelled is not None:
            raise cancelled

    async def _live(self) -> None:
        # Its own: a run that held the loop, which can stop the run, would hold itself.
        loop = Loop(self._plan, self._journal, self._view, self._stop)
        end: End = _LOST
        forget = self._token.add(self.cancel) if self._token is not None else None
        try:
            with loop.timer(self._plan.limits.run_timeout_s, "run_timeout_s"):
                end = await self._played(loop)
            await run_shielded(loop.finish(end))
        finally:
            if forget is not None:
                forget()
            # Whatever broke on the way, there is one end.
            if not self._journal.is_over:
                self._journal.write_last(end)
            self._journal.outbox.close()
            self._late_failure = loop.late_failure
            await self._plan.model.aclose()

    async def _played(self, loop: Loop) -> End:
        """Until the end, whoever makes it. Nothing stops the run any more when this returns."""
        try:
            await loop.begin()
            self._has_begun = True
            if self._abort is not None:
                raise asyncio.CancelledError
            reason = await loop.play()
            self._is_ending = True
            return RunFinished(reason, loop.usage)
        except asyncio.CancelledError:
            return await self._aborted(loop)
        except Terminate as terminate:
            await self._ending(loop, terminate.reason, was_stopped=True)
            return RunFinished(abort_reason("terminated", terminate.reason), loop.usage)
        except RunBroken as broken:
            await self._ending(loop, str(broken))
            return RunFailed(category=broken.category, message=str(broken), usage=loop.usage)
        except SinkFailed as failed:
            await self._ending(loop, str(failed))
            return RunFailed(category="storage", message=str(failed), usage=loop.usage)
        except HeadraceError as failed:
            await self._ending(loop, str(failed), was_stopped=True)
            return RunFailed(category="unknown", message=str(failed), usage=loop.usage)
        except Exception as error:  # noqa: BLE001 (the edge of a task: it must have one end)
            why = scrub(f"{type(error).__name__}: {error}")
            await self._ending(loop, why)
            return RunFailed(category="unknown", message=why, usage=loop.usage)

    async def _aborted(self, loop: Loop) -> End:
        _uncancel()
        reason = self._abort or abort_reason("cancelled", "the run's task was cancelled")
        await self._ending(loop, str(reason))
        reason = self._abort or reason
        if self._interruption is not None and reason.kind == "terminated":
            why = self._interruption
            return RunFailed(category="interrupted", message=why, usage=loop.usage)
        return RunFinished(reason, loop.usage)

    async def _ending(self, loop: Loop, why: str, *, was_stopped: bool = False) -> None:
        self._is_ending = True
        self._was_stopped = was_stopped
        await run_shielded(loop.abort(why))

    # -- what is known, at any moment

    @property
    def records(self) -> list[Record]:
        """All records so far; the list is the run's own, and grows."""
        return self._journal.records

    @property
    def message(self) -> Message:
        """The answer as far as it is told."""
        return self._journal.assembler.message()

    @property
    def messages(self) -> list[Message]:
        """What this run adds to a conversation, as far as it is told."""
        return [*self._asked, self.message]

    @property
    def result(self) -> Result:
        """What came of it. Raises `UsageError` before the end."""
        last = self._journal.records[-1].event if self._journal.records else None
        if not isinstance(last, RunFinished | RunFailed):
            raise UsageError("the run goes on: read it to its end, or await run.wait()")
        message = self.message
        return Result(
            message=message, finish=message.finish, error=message.error, usage=message.usage
        )


_LOST = RunFailed(category="unknown", message="the run broke before it could say why")


def _tell(over: asyncio.Future[None], _: asyncio.Task[None]) -> None:
    if not over.done():
        over.set_result(None)


def _uncancel() -> None:
    task = asyncio.current_task()
    if task is not None:
        while task.cancelling():
            task.uncancel()
