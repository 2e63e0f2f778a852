"""`Loop`: the agent loop, which alternates turns of the model and calls of tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from headrace import events as ev
from headrace.engine.calls.job import Report
from headrace.engine.calls.tool_runner import ToolRunner, number_calls
from headrace.engine.history.run_history import RunHistory
from headrace.engine.input.inbox import Inbox
from headrace.engine.journal.any_journal import AnyJournal
from headrace.engine.journal.sink import SinkFailed
from headrace.engine.middleware.chain import MiddlewareFailed
from headrace.engine.middleware.middleware import RunView
from headrace.engine.output_check import OutputCheck
from headrace.engine.resume.closing import (
    STOPPED,
    close_nested,
    expire_requests,
    needs_answers,
    skip_call,
    unanswered_calls,
)
from headrace.engine.resume.progress import RunProgress
from headrace.engine.run_broken import RunBroken, RunEnded
from headrace.engine.run_config import RunConfig
from headrace.engine.run_scope import RunScope
from headrace.engine.timer import Timers
from headrace.engine.turn_taker import TurnTaker
from headrace.errors import HeadraceError, Terminate
from headrace.events import Event
from headrace.messages import CallPart, Turn
from headrace.outcome import END_TURN, ErrorInfo, FinishReason, abort_reason
from headrace.typed.plan import ANSWER_TOOL
from headrace.usage import Usage

End = ev.RunFinished | ev.RunFailed
# Errors that cannot change an end that is being written.
_END_ERRORS = (MiddlewareFailed, Terminate, SinkFailed)
_ENDING_REASONS = frozenset({"content_filter", "context_full"})
_MAX_KILLS = 3
_NO_USAGE = Usage()
_CUT_OFF = "the process was stopped while the model answered"


class Loop:
    """The steps of one run. `begin()` writes the first record; `play()` writes all steps and
    returns how the run ends; `abort()` closes what is open if `play()` was stopped; `finish()`
    writes the terminal record. With `progress`, the loop goes on where an earlier process was."""

    __slots__ = (
        "_chain", "_config", "_history", "_inbox", "_is_in_step", "_journal", "_limits",
        "_next_step", "_nudge", "_output", "_progress", "_scope", "_started_before", "_state",
        "_tool_runner", "_view", "_wake", "late_error", "max_closing_s", "timers", "turns",
    )  # fmt: skip

    def __init__(
        self,
        config: RunConfig,
        journal: AnyJournal,
        view: RunView,
        scope: RunScope,
        stop: Callable[[FinishReason], None],
        *,
        inbox: Inbox | None = None,
        progress: RunProgress | None = None,
        wake: Callable[[], None] | None = None,
    ) -> None:
        self._config = config
        self._chain = config.chain
        self._limits = config.limits
        self._journal = journal
        self._view = view
        self._scope = scope
        self._inbox = inbox
        self._progress = progress
        self._wake = wake
        self.timers = Timers(stop)
        messages = config.target.request.messages
        self._history = RunHistory(messages, journal.assembler, config.compactor, view.run_id)
        self._tool_runner: ToolRunner | None = None
        self.max_closing_s: float | None = None
        """Most seconds for each wait of `abort()`, if that is less than the limits allow."""
        plan = config.target.plan
        self._output = None if plan is None else OutputCheck(plan)
        self.turns = TurnTaker(config, journal, view, self._history, self.timers, self._output)
        self._next_step = 0
        self._nudge: str | None = None
        self._is_in_step = False
        self._state = "before"
        # Calls of the current turn that an earlier process had started.
        self._started_before: set[str] = set()
        self.late_error: HeadraceError | None = None
        """What middleware raised for the terminal record itself."""
        if progress is not None:
            self._restore(progress)

    def _restore(self, progress: RunProgress) -> None:
        self._history.restore(progress.compactions)
        self._view.step = progress.step
        self._state = progress.state
        self._is_in_step = progress.state in ("asking", "turn", "failed", "calls")
        self._update_view()
        self._started_before = progress.started_calls
        self.turns.next_item, self.turns.next_part = progress.next_item, progress.next_part
        if self._output is not None:
            turns = progress.assembler.message().turns
            # The last turn is checked when the run goes on, unless its step has been left.
            is_left = progress.state in ("begun", "asking")
            self._output.restore(turns if is_left else turns[:-1])

    def _update_view(self) -> None:
        """Show hooks the answer so far, with the usage of sub-agents."""
        message = self._journal.assembler.message()
        self._view.message = msgspec.structs.replace(message, usage=self.usage)

    # -- the run

    async def begin(self, node: str | None = None, epoch: int = 1) -> None:
        """Write `RunStarted`, or `RunResumed` with this epoch for a run that goes on."""
        if self._progress is None:
            effort = self._config.target.request.options.effort
            trace = await self._start_trace()
            start = ev.RunStarted(self._view.run_id, self._config.name, effort, trace)
            await self._journal.announce([start])
            return
        progress = self._progress
        resumed: list[Event] = []
        if not self._view.path:
            resumed.append(ev.RunResumed(epoch, node, await self._start_trace()))
        cut = ev.TurnFailed(category="interrupted", message=_CUT_OFF, retryable=True)
        await self._journal.write([*resumed, *progress.close_turn(cut)])

    async def _start_trace(self) -> ev.TraceIds | msgspec.UnsetType:
        """Return the ids of the span that stands for the run from here on, if it is traced."""
        trace = None if self._view.path else await self._chain.start_trace(self._view)
        return msgspec.UNSET if trace is None else trace

    async def play(self) -> FinishReason:
        """Play steps until the model is done or something else ends the run."""
        finish: FinishReason | None = None
        if self._progress is None:
            await self._chain.start(self._view)
        else:
            await self._chain.resume(self._view)
            finish = await self._continue(self._progress)
        while finish is None:
            finish = await self._play_next_step()
        await self._write_output()
        return finish

    async def finish(self, end: End) -> None:
        """Call `on_run_end` of middleware and write the terminal record, exactly once.

        If the log has failed, that is why the run ends, even if something else was noticed first:
        another end would be shown as if the log had it."""
        lost = self._journal.log_failure
        if lost is not None:
            end = ev.RunFailed(category="storage", message=str(lost), usage=end.usage)
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
        """The sum over all turns so far, and over all sub-agents that have ended."""
        return self._journal.assembler.usage + self._journal.nested.usage

    # -- steps

    async def _continue(self, progress: RunProgress) -> FinishReason | None:
        """Go on where the records of an earlier process end. Returns how the run ends, or None if
        the next step follows."""
        if progress.cancel is not None:
            raise RunEnded(abort_reason("cancelled", progress.cancel.detail))
        if progress.fruitless_stretches >= _MAX_KILLS:
            count = f"{_MAX_KILLS} times before a step was finished"
            raise RunBroken("interrupted", f"the process of the run was stopped {count}")
        # The progress of a nested run goes on with its records; this is where it was.
        state, step = self._state, progress.step
        self._next_step = step if state == "begun" else step + 1
        if state in ("turn", "failed"):
            await self._journal.write([ev.StepDiscarded(step, _CUT_OFF)])
        if state == "calls":
            return await self._end_step(step, await self._after_turn(progress.last_turn))
        if self._is_in_step:
            return await self._play_step(step)
        if state in ("step over", "answered"):
            finish = self._conclude(progress)
            if state == "answered" and self._output is not None:
                # The answer is in the records already.
                self._output.forget()
            return finish
        return None

    def _conclude(self, progress: RunProgress) -> FinishReason | None:
        """Return how a run ends whose last step is over, or None if it goes on."""
        turn = progress.last_turn
        finish = turn.finish
        if finish is None:
            error = turn.error or ErrorInfo("interrupted", "the run was stopped")
            raise RunBroken(error.category, error.message)
        if progress.nudge is not None or finish.word == "paused":
            return None
        if self._output is not None and self._output.find_call(turn) is not None:
            return END_TURN if self._output.check(turn) else None
        if finish.word in _ENDING_REASONS:
            return finish
        if needs_answers(turn):
            return self._ended_by(progress.ending_tool)
        if self._output is not None:
            self._output.check(turn)
        return finish

    async def _play_next_step(self) -> FinishReason | None:
        """Start the next step and play it."""
        step = self._next_step
        if step >= self._limits.max_iterations:
            return abort_reason("max_iterations", f"max_iterations={self._limits.max_iterations}")
        if self._inbox and step > 0:
            await self._journal.write(self._inbox.take())
        compaction = await self._history.compact(is_forced=False)
        if compaction is not None:
            await self._journal.write([compaction])
        self._view.step = step
        if self._journal.nested.usage != _NO_USAGE:
            # Not the whole message: that would take longer with every step.
            message = self._view.message
            self._view.message = msgspec.structs.replace(message, usage=self.usage)
        # Set first: `StepStarted` is written even if middleware raises for it.
        self._is_in_step = True
        await self._journal.announce([ev.StepStarted(step)])
        return await self._play_step(step)

    async def _play_step(self, step: int) -> FinishReason | None:
        """Play one turn and its calls. Returns how the run ends, or None to continue."""
        self._started_before, self._state = set(), "asking"
        turn = await self.turns.take(step)
        return await self._end_step(step, await self._after_turn(turn))

    async def _end_step(self, step: int, finish: FinishReason | None) -> FinishReason | None:
        self._is_in_step = False
        self._next_step = step + 1
        nudge, self._nudge = self._nudge, None
        await self._journal.write([ev.StepFinished(step, nudge)])
        return finish

    async def _after_turn(self, turn: Turn) -> FinishReason | None:
        """Run the calls of a turn, and find out how the run ends, if it does."""
        self._update_view()
        calls = unanswered_calls(turn)
        finish = turn.finish
        assert finish is not None
        if finish.word in _ENDING_REASONS:
            await self._journal.write([skip_call(call) for call in calls])
            return finish
        if self._output is not None and self._output.find_call(turn) is not None:
            return await self._take_answer(turn, calls)
        if needs_answers(turn):
            return await self._run_calls([*calls, *_find_approvals(turn)])
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
            asked = [*others, *_find_approvals(turn)]
            return await self._run_calls(asked) if asked else None
        await self._journal.write([skip_call(call) for call in others])
        return await self._end_turn(turn, END_TURN)

    async def _write_output(self) -> None:
        """Write the typed answer, if there is one."""
        if self._output is not None and self._output.is_known:
            await self._journal.write([ev.OutputProduced(self._output.value)])

    # -- calls

    async def _run_calls(self, calls: list[CallPart]) -> FinishReason | None:
        before = self._progress
        runner = self._create_runner()
        self._tool_runner = runner
        try:
            async for report in runner.reports(calls):
                await self._write_report(report)
        except RunEnded as ended:
            await self._abort_tools()
            return ended.reason
        self._tool_runner = None
        if runner.ends_run is None and before is not None and self._state == "calls":
            # A tool that ended before the run was resumed may have asked for it.
            return self._ended_by(before.ending_tool)
        return self._ended_by(runner.ends_run)

    def _create_runner(self) -> ToolRunner:
        turns = self._journal.assembler.turns if self._limits.max_calls else ()
        return ToolRunner(
            self._view,
            self._chain,
            self._config.tools,
            self._limits,
            scope=self._scope,
            nested=self._journal.nested,
            started=self._started_before,
            numbers=number_calls(turn.turn() for turn in turns),
            timers=self.timers,
            wake=self._wake,
        )

    def is_waiting(self) -> bool:
        """Return whether the run only waits for input."""
        return self._tool_runner is not None and self._tool_runner.is_waiting()

    @staticmethod
    def _ended_by(name: str | None) -> FinishReason | None:
        return None if name is None else abort_reason("terminated", f"ended by the tool {name}")

    async def _write_report(self, report: Report) -> None:
        await self._journal.write(report.events, path=report.path, step=report.step)

    # -- an end from outside

    async def suspend(self, event: ev.RunSuspended) -> None:
        """Stop without an end. A turn that is being read is closed; calls that run are stopped,
        and have no result until the run is resumed."""
        why = "the run was suspended"
        await self._close_turn(why, None)
        runner, self._tool_runner = self._tool_runner, None
        if runner is not None:
            await runner.leave(self._limit_wait(self._limits.closing_s))
        await self._journal.write([event])

    async def leave(self, closing_s: float) -> None:
        """Stop the calls that run, and write nothing: the run around this one closes its records,
        or suspends."""
        runner, self._tool_runner = self._tool_runner, None
        if runner is not None:
            await runner.leave(min(closing_s, self._limits.closing_s))

    async def abort(self, why: str, request: ev.CancelRequested | None = None) -> None:
        """Close what is open: first the connection to the provider, then the turn, the tools and
        the step. Every call gets a result. An error in one of these does not stop the others."""
        await self._close_turn(why, request)
        for stage in (self._abort_tools(), self._answer_calls(), self._close_step()):
            with suppress(Exception):
                await stage

    async def _close_turn(self, why: str, request: ev.CancelRequested | None) -> None:
        turn, self.turns.open_turn = self.turns.open_turn, None
        if turn is not None:
            with suppress(Exception):
                await turn.aclose()
        await self._journal.settle(self._limit_wait(self._limits.settle_s))
        with suppress(Exception):
            if request is not None:
                await self._write_quietly([request])
            if turn is not None:
                await self._write_quietly(turn.fail(ErrorInfo("interrupted", why)))

    def _limit_wait(self, seconds: float) -> float:
        return seconds if self.max_closing_s is None else min(seconds, self.max_closing_s)

    async def _close_step(self) -> None:
        if self._is_in_step:
            self._is_in_step = False
            await self._write_quietly([ev.StepFinished(self._view.step)])

    async def _abort_tools(self) -> None:
        runner, self._tool_runner = self._tool_runner, None
        if runner is not None:
            closing_s = self._limit_wait(self._limits.closing_s)
            async for report in runner.close(closing_s):
                with suppress(*_END_ERRORS):
                    await self._write_report(report)

    async def _answer_calls(self) -> None:
        for child in list(self._journal.nested.running.values()):
            for events, path, step in close_nested(child, STOPPED):
                await self._journal.write(events, path=path, step=step)
        turns = self._journal.assembler.turns
        turn = turns[-1].turn() if turns else Turn()
        skipped = [skip_call(call) for call in unanswered_calls(turn)]
        await self._write_quietly([*skipped, *expire_requests(turn)])

    async def _write_quietly(self, events: Sequence[Event]) -> None:
        """Write events of a run that is ending, and ignore errors of middleware and the log."""
        with suppress(*_END_ERRORS):
            await self._journal.write(events)


def _find_approvals(turn: Turn) -> list[CallPart]:
    """Return the calls that the provider runs if it may. Those that were answered before the run
    was resumed are among them: their answers are in the log."""
    return [call for call in turn.calls if call.asks_approval]
