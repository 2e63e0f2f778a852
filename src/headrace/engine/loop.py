"""`Loop`: the agent loop, which alternates turns of the model and calls of tools."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

from headrace import events as ev
from headrace.engine.journal.journal import Journal
from headrace.engine.journal.sink import SinkFailed
from headrace.engine.middleware.chain import MiddlewareFailed
from headrace.engine.middleware.middleware import RunView
from headrace.engine.output_check import OutputCheck
from headrace.engine.run_broken import RunBroken
from headrace.engine.run_config import RunConfig
from headrace.engine.run_logger import log_discarded_step
from headrace.engine.tool_runner import ToolRunner, result_of_skipped
from headrace.errors import HeadraceError, RequestFailed, Terminate
from headrace.events import Event, TurnEvent
from headrace.messages import CallPart, Message, Turn
from headrace.outcome import END_TURN, ErrorCategory, ErrorInfo, FinishReason, abort_reason
from headrace.transport.call_secrets import hide_address
from headrace.turn.fallback import Route
from headrace.turn.open_turn import OpenTurn
from headrace.turn.target import TurnTarget
from headrace.typed.plan import ANSWER_TOOL
from headrace.usage import Usage

End = ev.RunFinished | ev.RunFailed
# Errors that cannot change an end that is being written.
_END_ERRORS = (MiddlewareFailed, Terminate, SinkFailed)
# A longer history is encoded in a thread, so that other runs on this event loop do not wait.
_MAX_MESSAGES_HERE = 1_000
_ENDING_REASONS = frozenset({"content_filter", "context_full"})


class Loop:
    """The steps of one run. `begin()` writes `RunStarted`; `play()` writes all steps and returns
    how the run ends; `abort()` closes what is open if `play()` was stopped; `finish()` writes the
    terminal record."""

    def __init__(
        self,
        config: RunConfig,
        journal: Journal,
        view: RunView,
        stop: Callable[[FinishReason], None],
    ) -> None:
        self._config = config
        self._chain = config.chain
        self._limits = config.limits
        self._journal = journal
        self._view = view
        self._stop = stop
        self._history: tuple[Message, ...] = config.target.request.messages
        self._route = Route(None)
        self._nudge: str | None = None
        self._compaction: ev.HistoryCompacted | None = None
        self._has_output = False
        self._turn: OpenTurn | None = None
        self._tool_runner: ToolRunner | None = None
        self._closing: asyncio.Task[None] | None = None
        self.max_closing_s: float | None = None
        """Most seconds for each wait of `abort()`, if that is less than the limits allow."""
        plan = config.target.plan
        self._output = None if plan is None else OutputCheck(plan)
        self._is_in_step = False
        self._next_item = 0
        self._next_part = 0
        self.hides_address = False
        """Whether errors are written without the address of the provider."""
        self.private_error: str | None = None
        """The error of the provider with its address, if that was hidden."""
        self.late_error: HeadraceError | None = None
        """What middleware raised for the terminal record itself."""

    # -- the run

    async def begin(self) -> None:
        """Write `RunStarted`."""
        effort = self._config.target.request.options.effort
        start = ev.RunStarted(self._view.run_id, self._config.name, effort)
        await self._journal.write([start])

    async def play(self) -> FinishReason:
        """Play steps until the model is done or something else ends the run."""
        write = self._journal.write
        await self._chain.start(self._view)
        for step in range(self._limits.max_iterations):
            await self._compact()
            self._view.step = step
            # Set first: `StepStarted` is written even if middleware raises for it.
            self._is_in_step = True
            await write([ev.StepStarted(step)])
            finish = await self._step(step)
            self._is_in_step = False
            nudge, self._nudge = self._nudge, None
            await write([ev.StepFinished(step, nudge)])
            if finish is not None:
                await self._write_output()
                return finish
        return abort_reason("max_iterations", f"max_iterations={self._limits.max_iterations}")

    async def finish(self, end: End) -> None:
        """Call `on_run_end` of middleware and write the terminal record, exactly once."""
        try:
            end = await self._journal.rewrite_end(end)
            await self._chain.run_end(self._view, end)
        except Terminate as terminate:
            end = ev.RunFinished(abort_reason("terminated", terminate.reason), end.usage)
        except MiddlewareFailed as error:
            end = ev.RunFailed(category="unknown", message=str(error), usage=end.usage)
        try:
            await self._journal.write([end], is_rewritten=True)
        except _END_ERRORS as error:
            # The record has been written and nothing can follow it: the caller gets the error.
            self.late_error = error

    @property
    def usage(self) -> Usage:
        """The sum over all turns so far."""
        return self._journal.assembler.usage

    # -- a step

    async def _step(self, step: int) -> FinishReason | None:
        """Play one turn and its calls. Returns how the run ends, or None to continue."""
        turn = await self._take_turn(step)
        self._view.message = self._journal.assembler.message()
        calls = [call for call in turn.calls if call.executor == "client"]
        finish = turn.finish
        assert finish is not None
        if finish.word in _ENDING_REASONS:
            await self._journal.write([result_of_skipped(call) for call in calls])
            return finish
        if self._output is not None and self._output.find_call(turn) is not None:
            return await self._take_answer(turn, calls)
        if calls:
            return await self._run_calls(calls)
        if finish.word == "paused":
            return None
        if self._output is not None and not self._output.check(turn):
            self._nudge = self._output.correction
            return None
        return await self._end_turn(turn, finish)

    async def _end_turn(self, turn: Turn, finish: FinishReason) -> FinishReason | None:
        """Ask middleware whether the run ends here."""
        self._nudge = await self._chain.turn_end(self._view, turn)
        if self._nudge is None:
            return finish
        if self._output is not None:
            self._output.forget()
        return None

    async def _take_answer(self, turn: Turn, calls: list[CallPart]) -> FinishReason | None:
        """Take the typed answer that came as a call. Beside a good answer other calls are not run;
        with a wrong one the run goes on."""
        assert self._output is not None
        is_good = self._output.check(turn)
        answers = [call for call in calls if call.name == ANSWER_TOOL]
        await self._journal.write([self._output.reply(call) for call in answers])
        others = [call for call in calls if call.name != ANSWER_TOOL]
        if not is_good:
            return await self._run_calls(others) if others else None
        await self._journal.write([result_of_skipped(call) for call in others])
        return await self._end_turn(turn, END_TURN)

    async def _write_output(self) -> None:
        """Write the typed answer, if there is one."""
        if self._output is not None and self._output.is_known:
            await self._journal.write([ev.OutputProduced(self._output.value)])

    async def _run_calls(self, calls: list[CallPart]) -> FinishReason | None:
        runner = ToolRunner(self._view, self._chain, self._config.tools, self._limits)
        self._tool_runner = runner
        async for event in runner.events(calls):
            await self._journal.write([event])
        self._tool_runner = None
        if runner.ends_run is not None:
            return abort_reason("terminated", f"ended by the tool {runner.ends_run}")
        return None

    # -- a turn

    async def _take_turn(self, step: int) -> Turn:
        """Ask for a turn until one succeeds. Raises `RunBroken` if none does."""
        attempt = 1
        has_compacted = False
        # The model that answered the last step is preferred: it has its own reasoning and cache.
        self._route = Route(self._config.fallback, self._config.at)
        while True:
            failed = await self._try_turn()
            if failed is None:
                self._route.report(None)
                return self._journal.assembler.turns[-1].turn()
            pause_s = self._pause_s(failed, attempt)
            if self._may_discard and self._switch(failed.category, is_late=True):
                pause_s, attempt = 0.0, 0
            elif failed.category == "context_overflow" and not has_compacted:
                # Some providers report this in the stream instead of refusing the request.
                has_compacted = not self._has_output and await self._can_compact()
                pause_s = 0.0 if has_compacted else None
            if pause_s is None:
                raise RunBroken(failed.category, failed.message)
            log_discarded_step(self._view.run_id, step, failed.category, pause_s)
            await self._journal.write([ev.StepDiscarded(step, failed.message)])
            if has_compacted:
                await self._write_compaction()
            await asyncio.sleep(pause_s)
            attempt += 1

    def _pause_s(self, failed: ev.TurnFailed, attempt: int) -> float | None:
        """Return how long to wait before the turn is retried, or None if it is not."""
        if not failed.retryable or attempt >= self._limits.turn_attempts:
            return None
        if not self._may_discard:
            return None
        return self._config.policy.pause_s(failed.retry_after_s, attempt, random.random())

    @property
    def _may_discard(self) -> bool:
        """Whether what has arrived of the turn may be taken back."""
        return not self._has_output or self._limits.retries_late

    def _switch(self, category: ErrorCategory, *, is_late: bool = False) -> bool:
        """Note that the model failed. Returns whether another one is asked from now on."""
        if not self._route.switch(category, is_late=is_late):
            return False
        self._config.switches.append(self._route.switches[-1])
        return True

    async def _try_turn(self) -> ev.TurnFailed | None:
        with self.timer(self._limits.turn_timeout_s, "turn_timeout_s"):
            self._turn = turn = await self._open_turn()
            self._has_output = False
            try:
                await self._read(turn)
            finally:
                await turn.aclose()
        self._turn = None
        self._next_item, self._next_part = turn.decoder.next_item, turn.decoder.next_part
        last = self._journal.records[-1].event
        return last if isinstance(last, ev.TurnFailed) else None

    async def _read(self, turn: OpenTurn) -> None:
        journal = self._journal
        if not journal.is_immediate:
            while events := await turn.next():
                self._has_output = self._has_output or _has_output(events)
                await journal.write(events)
            return
        # If the log fails, the turn is closed at once, even while the provider is silent.
        with journal.on_log_error(lambda: self._close_later(turn)):
            # After the first output, an event only has to be written.
            while await turn.drain(journal.put if self._has_output else self._put_first):
                await journal.wait_for_room()
            await journal.flush()

    def _close_later(self, turn: OpenTurn) -> None:
        self._closing = asyncio.ensure_future(turn.aclose())

    def _put_first(self, events: list[TurnEvent]) -> bool:
        self._has_output = _has_output(events)
        return self._journal.put(events) or self._has_output

    async def _open_turn(self) -> OpenTurn:
        is_second = False
        while True:
            target = self._choose_target()
            asked = target.request_with(self._messages())
            request = await self._chain.request(self._view, asked)
            if len(request.messages) > _MAX_MESSAGES_HERE:
                call = await asyncio.to_thread(target.encode, request)
            else:
                call = target.encode(request)
            try:
                return await target.open(
                    call,
                    request,
                    self._config.wire_limits,
                    strict=self._config.strict,
                    numbers=(self._next_item, self._next_part),
                )
            except RequestFailed as refused:
                before = self._route.describe()
                if self._switch(refused.category):
                    continue
                message = self._describe_refusal(refused, call.url) + before
                broken = RunBroken(refused.category, message)
                if refused.category != "context_overflow" or is_second:
                    raise broken from None
                is_second = True
                if not await self._can_compact():
                    raise broken from None
                await self._write_compaction()

    def _choose_target(self) -> TurnTarget:
        """Return the model to ask, and set how it gives a typed answer."""
        self._config.at = self._route.at
        target = self._config.target
        if self._output is not None and target.plan is not None:
            self._output.plan = target.plan
        return target

    def _describe_refusal(self, refused: RequestFailed, url: str) -> str:
        if not self.hides_address:
            return str(refused)
        self.private_error = str(refused)
        return hide_address(self.private_error, url)

    def _messages(self) -> tuple[Message, ...]:
        message = self._journal.assembler.message()
        return (*self._history, message) if message.turns else self._history

    async def _compact(self) -> None:
        """Shorten the history if the compactor decides to."""
        if await self._can_compact(is_forced=False):
            await self._write_compaction()

    async def _can_compact(self, *, is_forced: bool = True) -> bool:
        """Call the compactor. Returns whether it shortened the history. The answer of this run
        counts towards the limits, but is not shortened."""
        compactor = self._config.compactor
        if compactor is None:
            return False
        messages = self._messages()
        compacted = await compactor.compact(messages, is_forced=is_forced)
        if compacted is None:
            return False
        run_id = self._view.run_id
        kept = tuple(m for m in compacted if m.run_id != run_id or m.role != "assistant")
        before, after = len(self._history), len(kept)
        self._history = kept
        self._compaction = ev.HistoryCompacted(before, after, compactor.name)
        return True

    async def _write_compaction(self) -> None:
        event, self._compaction = self._compaction, None
        if event is not None:
            await self._journal.write([event])

    @contextmanager
    def timer(self, seconds: float | None, name: str) -> Generator[None, None, None]:
        """Stop the run if the block takes longer than this; None means no limit."""
        if seconds is None:
            yield
            return
        reason = abort_reason("timeout", f"{name}={seconds:g}")
        handle = asyncio.get_running_loop().call_later(seconds, self._stop, reason)
        try:
            yield
        finally:
            handle.cancel()

    # -- an end from outside

    async def abort(self, why: str) -> None:
        """Close what is open: first the connection to the provider, then the turn, the tools and
        the step. Every call gets a result. An error in one of these does not stop the others."""
        turn, self._turn = self._turn, None
        if turn is not None:
            with suppress(Exception):
                await turn.aclose()
        await self._journal.settle(self._limit_wait(self._limits.settle_s))
        for stage in (
            self._abort_turn(turn, why),
            self._abort_tools(),
            self._answer_calls(),
            self._end_step(),
        ):
            with suppress(Exception):
                await stage

    def _limit_wait(self, seconds: float) -> float:
        return seconds if self.max_closing_s is None else min(seconds, self.max_closing_s)

    async def _abort_turn(self, turn: OpenTurn | None, why: str) -> None:
        if turn is not None:
            await self._write_quietly(turn.fail(ErrorInfo("interrupted", why)))

    async def _end_step(self) -> None:
        if self._is_in_step:
            self._is_in_step = False
            await self._write_quietly([ev.StepFinished(self._view.step)])

    async def _abort_tools(self) -> None:
        runner, self._tool_runner = self._tool_runner, None
        if runner is not None:
            closing_s = self._limit_wait(self._limits.closing_s)
            await self._write_quietly(await runner.close(closing_s))

    async def _answer_calls(self) -> None:
        turns = self._journal.assembler.turns
        turn = turns[-1].turn() if turns else Turn()
        answered = {result.call_id for result in turn.results}
        calls = [c for c in turn.calls if c.executor == "client" and c.call_id not in answered]
        await self._write_quietly([result_of_skipped(call) for call in calls])

    async def _write_quietly(self, events: Sequence[Event]) -> None:
        """Write events of a run that is ending, and ignore errors of middleware and the log."""
        with suppress(*_END_ERRORS):
            await self._journal.write(events)


def _has_output(events: list[TurnEvent]) -> bool:
    """Return whether part of an answer is among the events: a delta, or a whole part."""
    return any(isinstance(event, _OUTPUT_TYPES) for event in events)


_OUTPUT_TYPES = (
    *ev.DELTA_TYPES,
    ev.ToolCallFinished,
    ev.ReasoningRedacted,
    ev.ToolOutput,
    ev.MediaProduced,
    ev.OpaqueItem,
)
