"""`Run`: one run of an agent, to enter, iterate over and cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Self

from headrace.engine.cancellation import CancelToken
from headrace.engine.journal.journal import Journal
from headrace.engine.journal.sink import Sink, SinkFailed
from headrace.engine.loop import End, Loop
from headrace.engine.middleware.middleware import RunView
from headrace.engine.run_broken import RunBroken
from headrace.engine.run_config import RunConfig
from headrace.engine.run_logger import RunLogger
from headrace.errors import HeadraceError, Terminate, UsageError
from headrace.events import Event, Record, RunFailed, RunFinished
from headrace.messages import Message
from headrace.outcome import FinishReason, abort_reason
from headrace.secrets.scrub import scrub
from headrace.shield import run_shielded
from headrace.turn.fallback import Switch
from headrace.turn.record_stream import RecordStream
from headrace.turn.result import OutputT, Result, result_of
from headrace.typed.plan import OutputPlan


class Run(RecordStream[Event], Generic[OutputT]):
    """A run that starts when it is entered: `with agent.run(…) as run`, or `async with`.

    Iterate over it for its events; the last one is `RunFinished` or `RunFailed`. A second loop
    continues where the first one stopped. Leaving the block early cancels the run and waits
    until it has ended.
    """

    _noun = "run"

    def __init__(
        self,
        config: RunConfig,
        input: tuple[Message, ...],
        run_id: str,
        clock: Callable[[], float],
        sink: Sink | None,
        token: CancelToken | None = None,
    ) -> None:
        super().__init__(config.target.plan)
        self.run_id = run_id
        self._config = config
        self._input = input
        self._view = RunView(run_id, config.name)
        self._journal = Journal(self._view, config.chain, clock, sink)
        self.hides_address = False
        """Whether errors are recorded without the address of the provider. Set it before
        entering."""
        self.private_error: str | None = None
        """The error of the provider with its address, if that was hidden."""
        self._late_error: HeadraceError | None = None
        self._token = token
        self._abort_reason: FinishReason | None = None
        self._interruption: str | None = None
        self._max_closing_s: float | None = None
        self._has_begun = False
        self._is_ending = False
        # Whether middleware ended the run, so that its error need not be raised again.
        self._was_terminated = False
        self._task: asyncio.Task[None] | None = None
        self._event_loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        if self._task is not None:
            raise UsageError("a run can be entered only once: call agent.run() again")
        self._event_loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._main(), name=f"run {self.run_id}")
        return self

    async def __aexit__(self, *error: Any) -> None:
        self.cancel("the caller left the run")
        await self._wait_for_task()
        late = self._late_error
        if late is not None and not any(error) and not self._was_terminated:
            raise late

    async def _next_batch(self) -> list[Record]:
        if self._task is None:
            raise self._not_entered()
        return await self._journal.queue.get()

    async def wait(self) -> Result[OutputT]:
        """Wait for the end of the run without reading it."""
        if self._task is None:
            raise self._not_entered()
        self._journal.queue.stop_waiting()
        # `asyncio.wait` needs three times the memory, and a server has one of these per run.
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task.add_done_callback(partial(_set_done, done))
        await done
        return self.result

    def hand_to(self, take: Callable[[list[Record]], None]) -> None:
        """Call `take` with the records as they are written, instead of reading them. The run
        then keeps only the latest record. `take` must not raise. Call this before entering."""
        if self._task is not None:
            raise UsageError("call hand_to() before you enter the run")
        self._journal.log.keeps_records = False
        self._journal.queue.take = take

    # -- ending the run

    def cancel(self, detail: str = "cancelled by the caller") -> None:
        """End the run as soon as possible and keep what arrived. Can be called from any thread
        and at any time: a run that has not started yet ends as soon as it starts."""
        self._on_loop(self._stop, abort_reason("cancelled", detail))

    def interrupt(self, why: str, *, max_closing_s: float | None = None) -> None:
        """End the run as failed, as soon as possible: the process that runs it is stopping.

        `max_closing_s` bounds the waits for tools, the log and hooks if `RunLimits` allow more.
        """
        self._interruption = self._interruption or why
        self._max_closing_s = max_closing_s
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
        """Keep the first reason, except that a cancellation replaces a timeout."""
        if self._task is not None and self._task.done():
            return
        if self._abort_reason is None or (
            self._abort_reason.kind == "timeout" and reason.kind == "cancelled"
        ):
            is_first = self._abort_reason is None
            self._abort_reason = reason
            self._journal.queue.stop_waiting()
            if is_first and self._task is not None and self._has_begun and not self._is_ending:
                self._task.cancel()

    async def _wait_for_task(self) -> None:
        """Wait for the task even while the caller itself is being cancelled."""
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

    async def _main(self) -> None:
        # A local variable: an attribute would make a reference cycle of the run and its loop.
        loop = Loop(self._config, self._journal, self._view, self._stop)
        loop.hides_address = self.hides_address
        end: End = _UNKNOWN_END
        logger = RunLogger(self.run_id, self._config.name)
        logger.log_start()
        forget = self._token.add(self.cancel) if self._token is not None else None
        try:
            with loop.timer(self._config.limits.run_timeout_s, "run_timeout_s"):
                end = await self._play(loop)
            await run_shielded(loop.finish(end))
        finally:
            if forget is not None:
                forget()
            # Whatever failed before, exactly one terminal record is written.
            if not self._journal.is_over:
                self._journal.write_last(end)
            self._journal.queue.close()
            logger.log_end(end)
            self._late_error = loop.late_error
            self.private_error = loop.private_error
            for target in self._config.targets:
                await target.model.aclose()

    async def _play(self, loop: Loop) -> End:
        """Play the run and return its terminal event, whatever ends it. After this returns,
        nothing can stop the run any more."""
        try:
            await loop.begin()
            self._has_begun = True
            if self._abort_reason is not None:
                raise asyncio.CancelledError
            reason = await loop.play()
            self._is_ending = True
            return RunFinished(reason, loop.usage)
        except asyncio.CancelledError:
            return await self._end_cancelled(loop)
        except Terminate as terminate:
            await self._abort(loop, terminate.reason, was_terminated=True)
            return RunFinished(abort_reason("terminated", terminate.reason), loop.usage)
        except RunBroken as error:
            await self._abort(loop, str(error))
            return RunFailed(category=error.category, message=str(error), usage=loop.usage)
        except SinkFailed as error:
            await self._abort(loop, str(error))
            return RunFailed(category="storage", message=str(error), usage=loop.usage)
        except HeadraceError as error:
            await self._abort(loop, str(error), was_terminated=True)
            return RunFailed(category="unknown", message=str(error), usage=loop.usage)
        except Exception as error:  # noqa: BLE001 (the edge of a task: the run must get an end)
            why = scrub(f"{type(error).__name__}: {error}")
            await self._abort(loop, why)
            return RunFailed(category="unknown", message=why, usage=loop.usage)

    async def _end_cancelled(self, loop: Loop) -> End:
        _uncancel()
        reason = self._abort_reason or abort_reason("cancelled", "the run's task was cancelled")
        await self._abort(loop, str(reason))
        reason = self._abort_reason or reason
        if self._interruption is not None and reason.kind == "terminated":
            why = self._interruption
            return RunFailed(category="interrupted", message=why, usage=loop.usage)
        return RunFinished(reason, loop.usage)

    async def _abort(self, loop: Loop, why: str, *, was_terminated: bool = False) -> None:
        self._is_ending = True
        self._was_terminated = was_terminated
        loop.max_closing_s = self._max_closing_s
        await run_shielded(loop.abort(why))

    # -- what is known at any time

    @property
    def records_so_far(self) -> list[Record]:
        """All records that have been written so far. This is the run's own list, which grows."""
        return self._journal.records

    @property
    def message(self) -> Message:
        """The answer so far."""
        return self._journal.assembler.message()

    @property
    def messages(self) -> list[Message]:
        """What this run adds to a conversation: the input, and the answer so far."""
        return [*self._input, self.message]

    @property
    def result(self) -> Result[OutputT]:
        """The result of the run. Raises `UsageError` before the end."""
        last = self._journal.records[-1].event if self._journal.records else None
        if not isinstance(last, RunFinished | RunFailed):
            raise UsageError("the run has not ended: read it to the end, or await run.wait()")
        return result_of(self.message, self._config.target.plan, self.switches)

    @property
    def switches(self) -> tuple[Switch, ...]:
        """The models of a `Fallback` that failed so far, in order."""
        return tuple(self._config.switches)

    def _find_plan(self, provider: str | None) -> OutputPlan:
        plans = (
            target.plan
            for target in self._config.targets
            if provider is None or target.model.endpoint.provider.name == provider
        )
        return next(filter(None, plans), None) or super()._find_plan(provider)

    @property
    def output(self) -> OutputT:
        """The answer as a value of the agent's `output_type`, at the end of the run. Raises
        `OutputInvalid` if there is none."""
        return self.result.output


_UNKNOWN_END = RunFailed(category="unknown", message="the run failed without an error message")


def _set_done(done: asyncio.Future[None], _: asyncio.Task[None]) -> None:
    if not done.done():
        done.set_result(None)


def _uncancel() -> None:
    task = asyncio.current_task()
    if task is not None:
        while task.cancelling():
            task.uncancel()
