"""`Run`: one run of an agent, to enter, iterate over and cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Self

from headrace.engine.history.run_history import restore_messages
from headrace.engine.input.inbox import Inbox
from headrace.engine.input.requests import InputRequests
from headrace.engine.journal.journal import Journal
from headrace.engine.journal.sink import SinkFailed
from headrace.engine.log_lines.run_logger import RunLogger
from headrace.engine.loop import End, Loop
from headrace.engine.middleware.middleware import RunView
from headrace.engine.resume.progress import RunProgress
from headrace.engine.run_broken import RunBroken, RunEnded, RunWaits
from headrace.engine.run_config import RunConfig
from headrace.engine.run_end import describe_error, end_of
from headrace.engine.run_input import RunInput
from headrace.engine.run_scope import RunScope
from headrace.engine.run_settings import RunSettings
from headrace.errors import HeadraceError, InputRequired, UsageError
from headrace.events import (
    CancelRequested,
    Event,
    Record,
    RunFailed,
    RunFinished,
    RunStarted,
    RunSuspended,
)
from headrace.events.stamp import create_wall_clock
from headrace.messages import Message
from headrace.outcome import FinishReason, abort_reason
from headrace.shield import run_shielded
from headrace.tools import ToolSourceFailed
from headrace.turn.fallback import Switch
from headrace.turn.record_stream import RecordStream
from headrace.turn.result import OutputT, Result, result_of
from headrace.typed.plan import OutputPlan


class Run(RunInput, RecordStream[Event], Generic[OutputT]):
    """A run that starts when it is entered: `with agent.run(…) as run`, or `async with`.

    Iterate over it for its events; the last one is `RunFinished` or `RunFailed`. A second loop
    continues where the first one stopped. Leaving the block early cancels the run and waits
    until it has ended.
    """

    _noun = "run"

    # Few runs set these. An object with more than 30 attributes of its own takes 1.5 KB instead of
    # 0.3 KB (measured with CPython 3.11), and a server has one of these per stream.
    _cancel_request: CancelRequested | None = None
    _is_draining = False
    _late_error: HeadraceError | None = None
    _abort_reason: FinishReason | None = None
    _interruption: str | None = None
    _max_closing_s: float | None = None
    _has_begun = False
    _is_ending = False
    _was_terminated = False
    """Whether middleware ended the run, so that its error need not be raised again."""
    _loading: asyncio.Task[RunConfig] | None = None
    _event_loop: asyncio.AbstractEventLoop | None = None

    def __init__(
        self,
        config: RunConfig,
        input: tuple[Message, ...],
        run_id: str,
        settings: RunSettings,
    ) -> None:
        super().__init__(config.target.plan)
        self.run_id = run_id
        self._config = config
        self._input = input
        clock = settings.clock or create_wall_clock()
        self._view = RunView(run_id, config.name, user=settings.user, clock=clock)
        self._journal = Journal(self._view, config.chain, clock, settings.sink)
        self._earlier = settings.records
        self._progress: RunProgress | None = None
        if settings.records:
            self._progress = RunProgress.read(settings.records)
            # Raised here, and not by the task of the run, if the history is another one.
            restore_messages(config.target.request.messages, self._progress.compactions)
            self._journal.restore(settings.records, self._progress)
        self._node, self._journal.epoch = settings.node, settings.epoch
        if self._progress is not None:
            self._journal.epoch = max(settings.epoch, self._progress.epoch + 1)
        self._inputs = InputRequests(self._journal.assembler, settings.records)
        self._scope = RunScope(
            run_id,
            self._inputs,
            clock,
            config.limits,
            settings.user,
            settings.suspends,
            chain=config.chain,
        )
        self._scope.nested_runs = sum(
            bool(record.path) and isinstance(record.event, RunStarted)
            for record in settings.records
        )
        self._inbox = Inbox()
        if self._progress is not None:
            self._inbox.ignore(self._progress.entry_ids)
        self.hides_address = False
        """Whether errors are recorded without the address of the provider. Set it before
        entering."""
        self.private_error: str | None = None
        """The error of the provider with its address, if that was hidden."""
        self._token = settings.token
        self._task: asyncio.Task[None] | None = None

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

    def cancel(
        self,
        detail: str = "cancelled by the caller",
        *,
        by: str | None = None,
        entry_id: str | None = None,
    ) -> None:
        """End the run as soon as possible and keep what arrived. Can be called from any thread
        and at any time: a run that has not started yet ends as soon as it starts. With `by` or
        `entry_id`, the log gets a `CancelRequested` that names them."""
        if by is not None or entry_id is not None:
            self._cancel_request = CancelRequested(detail=detail, by=by, entry_id=entry_id)
        self._on_loop(partial(self._stop, abort_reason("cancelled", detail)))

    def interrupt(self, why: str, *, max_closing_s: float | None = None) -> None:
        """End the run as failed, as soon as possible: the process that runs it is stopping.

        `max_closing_s` bounds the waits for tools, the log and hooks if `RunLimits` allow more.
        """
        self._interruption = self._interruption or why
        self._max_closing_s = max_closing_s
        self._on_loop(partial(self._stop, abort_reason("terminated", why)))

    @property
    def is_resumable(self) -> bool:
        """Whether the run can be resumed from its records: no middleware forbids it."""
        return self._config.chain.unresumable is None

    def suspend(self, *, max_closing_s: float | None = None) -> None:
        """Stop the run as soon as possible without ending it, because its process is stopping:
        `agent.resume()` continues it from its records. Calls that run are stopped; those that are
        not idempotent get an error result when the run is resumed."""
        self._is_draining = True
        self.interrupt("the process is stopping", max_closing_s=max_closing_s)

    @property
    def is_suspended(self) -> bool:
        """Whether the run has stopped, and can be continued with `agent.resume()`."""
        return isinstance(self._journal.last_event, RunSuspended)

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
            if self._loading is not None:
                self._loading.cancel()
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

    async def _load_tools(self) -> ToolSourceFailed | None:
        """Ask MCP servers for their tools, if there are any. Returns what failed."""
        load, targets = self._config.load, self._config.targets
        if load is None or self._abort_reason is not None:
            return None
        self._loading = asyncio.ensure_future(load())
        try:
            await asyncio.wait([self._loading])
        finally:
            loading, self._loading = self._loading, None
            loading.cancel()
        if loading.cancelled():
            return None
        error = loading.exception()
        if error is None:
            self._config = loading.result()
            for target in targets:
                await target.model.aclose()
        elif not isinstance(error, ToolSourceFailed):
            raise error
        return error

    async def _main(self) -> None:
        failure = await self._load_tools()
        # A local variable: an attribute would make a reference cycle of the run and its loop.
        loop = Loop(
            self._config,
            self._journal,
            self._view,
            self._scope,
            self._stop,
            inbox=self._inbox,
            progress=self._progress,
        )
        loop.turns.hides_address = self.hides_address
        end: End | None = _UNKNOWN_END
        logger = RunLogger(self.run_id, self._config.name)
        logger.log_start(is_resumed=self._progress is not None)
        forget = self._token.add(self.cancel) if self._token is not None else None
        try:
            with loop.timers.limit(self._config.limits.run_timeout_s, "run_timeout_s"):
                end = await self._play(loop, failure)
            if end is not None:
                await run_shielded(loop.finish(end))
        finally:
            if forget is not None:
                forget()
            # Whatever failed before, exactly one terminal record is written.
            if end is not None and not self._journal.is_over:
                self._journal.write_last(end)
            self._inputs.is_closed = True
            self._journal.queue.close()
            logger.log_end(end)
            self._late_error = loop.late_error
            self.private_error = loop.turns.private_error
            for target in self._config.targets:
                await target.model.aclose()

    async def _play(self, loop: Loop, failure: ToolSourceFailed | None) -> End | None:
        """Play the run and return its terminal event, whatever ends it, or None if it was
        suspended. After this returns, nothing can stop the run any more."""
        try:
            await self._journal.replay(self._earlier)
            self._earlier = ()
            await loop.begin(self._node, self._journal.epoch)
            self._has_begun = True
            if self._abort_reason is not None:
                raise asyncio.CancelledError
            if failure is not None:
                raise RunBroken("network", str(failure))
            reason = await loop.play()
            self._is_ending = True
            return RunFinished(reason, loop.usage)
        except asyncio.CancelledError:
            return await self._end_cancelled(loop)
        except RunWaits as waits:
            self._is_ending = True
            return await self._suspend(loop, RunSuspended("input", waits.waiting))
        except Exception as error:  # noqa: BLE001 (the edge of a task: the run must get an end)
            is_of_middleware = isinstance(error, HeadraceError) and not isinstance(error, _ENDS)
            why = describe_error(error)
            await self._abort(loop, why, was_terminated=is_of_middleware)
            return end_of(error, loop.usage)

    async def _end_cancelled(self, loop: Loop) -> End | None:
        _uncancel()
        reason = self._abort_reason or abort_reason("cancelled", "the run's task was cancelled")
        if self._is_draining and reason.kind == "terminated":
            self._is_ending = True
            return await self._suspend(loop, RunSuspended("drain"))
        await self._abort(loop, str(reason))
        reason = self._abort_reason or reason
        if self._interruption is not None and reason.kind == "terminated":
            why = self._interruption
            return RunFailed(category="interrupted", message=why, usage=loop.usage)
        return RunFinished(reason, loop.usage)

    async def _suspend(self, loop: Loop, event: RunSuspended) -> End | None:
        """Stop without an end. If the log cannot take it, the run fails instead."""
        self._inputs.is_closed = True
        loop.max_closing_s = self._max_closing_s
        try:
            await run_shielded(loop.suspend(event))
        except Exception as error:  # noqa: BLE001 (the edge of a task: the run must get an end)
            await self._abort(loop, describe_error(error))
            return end_of(error, loop.usage)
        return None

    async def _abort(self, loop: Loop, why: str, *, was_terminated: bool = False) -> None:
        self._is_ending = True
        self._was_terminated = was_terminated
        loop.max_closing_s = self._max_closing_s
        is_cancelled = self._abort_reason is not None and self._abort_reason.kind == "cancelled"
        request = self._cancel_request if is_cancelled else None
        await run_shielded(loop.abort(why, request))

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
        if isinstance(last, RunSuspended):
            raise InputRequired(self.requests, self._journal.records)
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


# Errors that are reported as the end of the run, and not raised for the caller.
_ENDS = (RunBroken, RunEnded, SinkFailed)
_UNKNOWN_END = RunFailed(category="unknown", message="the run failed without an error message")


def _set_done(done: asyncio.Future[None], _: asyncio.Task[None]) -> None:
    if not done.done():
        done.set_result(None)


def _uncancel() -> None:
    task = asyncio.current_task()
    if task is not None:
        while task.cancelling():
            task.uncancel()
