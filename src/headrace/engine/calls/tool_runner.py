"""`ToolRunner`: runs the calls of one turn in parallel, and reports what happens to them."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from headrace.encoders import ToolSpec
from headrace.engine.calls.job import Ended, Job, Report
from headrace.engine.calls.questioner import Questioner, to_denial
from headrace.engine.limits import RunLimits
from headrace.engine.log_lines.tool_logger import ToolLogger
from headrace.engine.middleware.chain import Chain, MiddlewareFailed
from headrace.engine.middleware.middleware import Deny, RunView, ToolCall
from headrace.engine.nested.agent_tool import AgentTool
from headrace.engine.nested.nesting import Nesting
from headrace.engine.resume.closing import STOPPED, close_nested
from headrace.engine.resume.progress import NestedRuns
from headrace.engine.run_broken import RunEnded, RunWaits
from headrace.engine.run_scope import RunScope
from headrace.engine.timer import Timers
from headrace.errors import HeadraceError, Terminate
from headrace.events import (
    Event,
    InputAnswered,
    InputRequested,
    ToolProgress,
    ToolResult,
    ToolStarted,
)
from headrace.messages import CallPart, Turn
from headrace.messages.provider_history import NOT_RUN, explain_not_run
from headrace.secrets.scrub import scrub
from headrace.tools import (
    ExternalTool,
    Tool,
    ToolContext,
    ToolReturn,
    Toolset,
    tool_error,
)
from headrace.tools.result import limit_size

MAY_HAVE_RUN = (
    "The process was stopped while this call was running, so its result is not known. It may have"
    " taken effect: check that before you repeat it."
)
# A call whose report of one of these was not written has not gone on.
_UNWRITTEN = (ToolStarted, InputRequested, InputAnswered)
# A nested run waits for its calls, and is itself waited for: its wait must end before.
_SHARE_OF_CLOSING = 0.8

_Item: TypeAlias = Report | Ended | None


class ToolRunner:
    """Runs the calls of a turn. Iterate over `reports()` and write each report; `close()` stops
    the calls that still run. After either, every call has been answered.

    `started` are calls that an earlier process had started. `numbers` tells for each call how
    often its tool has been called in the run, this call included. `timers` do not run while all
    calls wait for input.
    """

    __slots__ = (
        "_chain", "_error", "_is_closing", "_items", "_jobs", "_left", "_limits", "_nested",
        "_numbers", "_questioner", "_scope", "_slots", "_started_before", "_starter", "_timers",
        "_tools", "_view", "_wake_parent", "ends_run",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 (all that a turn's calls depend on)
        self,
        view: RunView,
        chain: Chain,
        tools: Toolset,
        limits: RunLimits,
        *,
        scope: RunScope,
        nested: NestedRuns,
        started: set[str],
        numbers: Mapping[str, int],
        timers: Timers,
        wake: Callable[[], None] | None = None,
    ) -> None:
        self._view = view
        self._chain = chain
        self._tools = tools
        self._limits = limits
        self._scope = scope
        self._nested = nested
        self._started_before = started
        self._numbers = numbers
        self._timers = timers
        self._wake_parent = wake
        self._slots = asyncio.Semaphore(limits.max_parallel_tools)
        self._questioner: Questioner | None = Questioner(
            view, scope, chain, limits, self._tell, self._wake
        )
        self._starter: asyncio.Task[None] | None = None
        self._is_closing = False
        self._items: asyncio.Queue[_Item] = asyncio.Queue()
        self._jobs: dict[str, Job] = {}
        self._left: dict[str, CallPart] = {}
        self._error: HeadraceError | None = None
        self.ends_run: str | None = None
        """The name of the tool that asked to end the run, or None."""

    # -- the calls of a turn

    async def reports(self, calls: list[CallPart]) -> AsyncIterator[Report]:
        """Run the calls and iterate over what happens. Results come as soon as they are known.

        Raises `Terminate`, `MiddlewareFailed` or `RunEnded` at once; call `close()` then to stop
        the calls that still run. Raises `RunWaits` if the run is to be suspended.
        """
        self._left = {call.call_id: call for call in calls}
        self._starter = asyncio.create_task(self._start_all(calls), name="calls")
        while self._left:
            if self._scope.suspends and not self._view.path and self.is_waiting():
                raise RunWaits(tuple(r.request_id for r in self._scope.inputs.open))
            item = await self._next_item()
            if isinstance(item, Ended):
                closed = self._scope.inputs.close_call(self._view.path, item.call_id)
                item = Report([*closed, *self._end_call(*item)])
            if item is not None:
                yield item
                if item.written is not None and not item.written.done():
                    item.written.set_result(None)
            if self._error is not None:
                raise self._error
        self._release()

    async def _next_item(self) -> _Item:
        if not self.is_waiting():
            return await self._items.get()
        with self._timers.pause():
            return await self._items.get()

    def is_waiting(self) -> bool:
        """Return whether all calls that are left wait for input."""
        if self._starter is None or not self._starter.done() or not self._items.empty():
            return False
        jobs = [self._jobs.get(call_id) for call_id in self._left]
        return bool(jobs) and all(job is not None and job.is_waiting for job in jobs)

    async def leave(self, closing_s: float) -> None:
        """Stop without an answer to the calls that are left: the run is suspended."""
        await self._stop(closing_s)
        self._release()

    async def _start_all(self, calls: list[CallPart]) -> None:
        """Ask middleware about one call after the other; calls that were allowed run already."""
        try:
            for call in calls:
                result = await self._start(call)
                if result is not None:
                    self._items.put_nowait(Ended(call.call_id, result))
        except (Terminate, MiddlewareFailed) as error:
            self._error = self._error or error
        self._wake()

    async def _start(self, part: CallPart) -> ToolReturn | None:
        """Start a call. Returns its result if it is known at once."""
        if part.asks_approval:
            self._run_job(Job(_to_call(part), None, provider_call=part))
            return None
        tool = self._tools.get(part.name)
        if part.error is not None:
            return tool_error(explain_not_run(part))
        if part.ended_ms is None:
            return tool_error("The arguments are incomplete.")
        if tool is None:
            names = ", ".join(self._tools.names) or "none"
            return tool_error(f"No tool {part.name!r}: there are {names}")
        if part.call_id in self._started_before and not self._may_run_again(part, tool):
            return tool_error(MAY_HAVE_RUN)
        most = self._limits.max_calls.get(part.name)
        if most is not None and self._numbers[part.call_id] > most:
            return tool_error(f"{part.name} was not run: it may be called {most} times in a run")
        return await self._ask_middleware(_to_call(part), tool)

    def _may_run_again(self, part: CallPart, tool: Tool | ExternalTool | ToolSpec) -> bool:
        """Return whether a call that an earlier process had started can be run again: its tool is
        idempotent, or waits for an answer with which it can go on."""
        if isinstance(tool, Tool) and tool.is_idempotent:
            return True
        return self._scope.inputs.find_state(self._view.path, part.call_id) is not None

    async def _ask_middleware(
        self, call: ToolCall, tool: Tool | ExternalTool | ToolSpec
    ) -> ToolReturn | None:
        decision, ask = await self._chain.before_tool(self._view, call)
        if isinstance(decision, Deny):
            return to_denial(decision)
        if isinstance(tool, ToolSpec):
            return tool_error(f"{tool.name} has no function, so the call was not run.")
        self._run_job(Job(ToolCall(call.call_id, call.name, decision.args), tool, ask))
        return None

    def _run_job(self, job: Job) -> None:
        self._jobs[job.call.call_id] = job
        job.task = asyncio.create_task(self._execute(job), name=f"tool {job.call.name}")

    def _end_call(self, call_id: str, result: ToolReturn | None) -> list[Event]:
        """Return the result of a call. One that the provider runs has none here."""
        part = self._left.pop(call_id)
        if part.asks_approval:
            return []
        job = self._jobs.get(call_id)
        if result is None:
            result = tool_error(STOPPED if job is not None and job.has_started else NOT_RUN)
        self._nested.forget(call_id)
        if result.ends_run and self.ends_run is None:
            self.ends_run = part.name
        ended = ToolResult(
            call_id=call_id,
            content=result.content,
            kind=result.kind,
            is_error=result.is_error,
            ends_run=result.ends_run,
        )
        return [ended]

    # -- one call

    async def _execute(self, job: Job) -> None:
        try:
            result = await self._perform(job)
            most = job.tool.max_result_chars if isinstance(job.tool, Tool) else None
            job.result = limit_size(result, most or self._limits.max_result_chars)
        except (Terminate, MiddlewareFailed, RunEnded) as error:
            self._error = self._error or error
            job.result = tool_error(f"The run was ended: {error}")
        except BaseException as error:
            if self._is_closing or isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            why = scrub(f"{type(error).__name__}: {error}")
            job.result = tool_error(f"{job.call.name} failed: {why}")
        finally:
            # What is over must not keep itself in memory.
            job.context = job.timer = None
            self._items.put_nowait(Ended(job.call.call_id, job.result))

    async def _perform(self, job: Job) -> ToolReturn:
        if job.provider_call is not None:
            assert self._questioner is not None
            await self._questioner.approve_for_provider(job, job.provider_call)
            return ToolReturn(content=())
        logger = ToolLogger(self._view.run_id, job.call.name, job.call.call_id)
        is_error: bool | None = None
        try:
            result = await self._approve_and_run(job)
            is_error = result.is_error
        finally:
            logger.log_end(is_error)
        return result

    async def _approve_and_run(self, job: Job) -> ToolReturn:
        tool = job.tool
        assert tool is not None
        assert self._questioner is not None
        if isinstance(tool, ExternalTool):
            return await self._questioner.ask_outside(job, tool)
        denial = await self._questioner.approve(job, tool)
        if denial is not None:
            return denial
        # The slot of the tool first: a call that waits for it must not block other tools.
        async with tool.slots(), self._slots:
            if isinstance(tool, AgentTool):
                result = await self._run_nested(job, tool)
            else:
                await self._tell([ToolStarted(job.call.call_id, job.call.args)])
                job.has_started = True
                result = await self._execute_in_time(job, tool)
            return await self._chain.after_tool(self._view, job.call, result)

    async def _execute_in_time(self, job: Job, tool: Tool) -> ToolReturn:
        timeout_s = tool.timeout_s or self._limits.tool_timeout_s
        job.context = context = self._create_context(job)
        job.timer = asyncio.timeout(timeout_s)
        try:
            async with job.timer:
                with self._chain.around_tool(self._view, job.call):
                    return await tool.execute(job.call.args, context)
        except TimeoutError:
            if not job.timer.expired():
                raise
        context.cancel()
        return tool_error(f"{tool.name} took longer than {timeout_s:g} s and was stopped")

    def _create_context(self, job: Job) -> ToolContext:
        loop = asyncio.get_running_loop()
        put = self._items.put_nowait

        def report(progress: ToolProgress) -> None:
            # A thread that was left behind may report after the loop has closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(put, Report([progress]))

        assert self._questioner is not None
        view, call = self._view, job.call
        return ToolContext(
            run_id=view.run_id,
            step=view.step,
            call_id=call.call_id,
            name=call.name,
            report=report,
            idempotency_key=_create_key(view, call.call_id),
            ask=partial(self._questioner.ask_while_running, job),
            state=self._scope.inputs.find_state(view.path, call.call_id),
        )

    async def _run_nested(self, job: Job, tool: AgentTool) -> ToolReturn:
        """Play the run of a sub-agent. A run that an earlier process had started is continued."""
        call = job.call
        if call.call_id not in self._started_before:
            await self._tell([ToolStarted(call.call_id, call.args)])
        job.has_started = True
        progress = self._nested.open(call.call_id)
        steps = (*self._view.outer_steps, self._view.step)
        closing_s = self._limits.closing_s * _SHARE_OF_CLOSING
        timer = asyncio.timeout(tool.timeout_s)
        nesting = Nesting(
            self._scope, progress, self._tell_nested, steps, self._wake, closing_s, timer
        )
        job.nesting = nesting
        try:
            async with timer:
                with self._chain.around_tool(self._view, call):
                    return await tool.play(call.args, nesting)
        except TimeoutError:
            if not timer.expired():
                raise
        why = f"{tool.name} took longer than {tool.timeout_s:g} s and was stopped"
        for events, path, step in close_nested(progress, why):
            await self._tell_nested(events, path, step)
        return tool_error(why)

    def _release(self) -> None:
        """Let go of everything: what is over must not keep itself in memory. A cancelled task has
        a traceback, and its frames have the job."""
        for job in self._jobs.values():
            job.task = None
        self._jobs.clear()
        self._questioner = None

    # -- telling the loop

    async def _tell(self, events: Sequence[Event]) -> None:
        """Have events of this run written, and wait until they are."""
        await self._tell_report(Report(events))

    async def _tell_nested(self, events: Sequence[Event], path: tuple[str, ...], step: int) -> None:
        await self._tell_report(Report(events, path, step))

    async def _tell_report(self, report: Report) -> None:
        report.written = asyncio.get_running_loop().create_future()
        self._items.put_nowait(report)
        await report.written

    def _wake(self) -> None:
        """Let `reports()` look whether all calls wait."""
        self._items.put_nowait(None)
        if self._wake_parent is not None:
            self._wake_parent()

    # -- the end

    async def close(self, closing_s: float) -> AsyncIterator[Report]:
        """Stop the calls that run, wait for them for `closing_s`, and iterate over what is left to
        write: each call gets its result, or an error result if it has none.

        A call that goes on after that is left behind, and nothing of it is reported any more.
        """
        await self._stop(closing_s)
        results: dict[str, ToolReturn | None] = {}
        for item in self._take_items():
            if isinstance(item, Ended):
                results[item.call_id] = item.result
            else:
                yield item
        for call_id in list(self._left):
            job = self._jobs.get(call_id)
            if job is not None and job.nesting is not None:
                for events, path, step in close_nested(job.nesting.progress, STOPPED):
                    yield Report(events, path, step)
            if self._left[call_id].asks_approval:
                yield Report(self._scope.inputs.close_call(self._view.path, call_id))
            yield Report(self._end_call(call_id, results.get(call_id)))
        self._release()

    async def _stop(self, closing_s: float) -> None:
        self._is_closing = True
        tasks = [job.task for job in self._jobs.values() if job.task and not job.task.done()]
        if self._starter is not None and not self._starter.done():
            tasks.append(self._starter)
        for job in self._jobs.values():
            if job.context is not None:
                job.context.closing_s = closing_s
                job.context.cancel()
            if job.nesting is not None:
                job.nesting.closing_s = closing_s * _SHARE_OF_CLOSING
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=closing_s)

    def _take_items(self) -> list[Report | Ended]:
        """Return what was not read, without reports that nothing has come of."""
        items: list[Report | Ended] = []
        while not self._items.empty():
            item = self._items.get_nowait()
            if isinstance(item, Report):
                events = [event for event in item.events if not isinstance(event, _UNWRITTEN)]
                items.append(Report(events, item.path, item.step))
            elif item is not None:
                items.append(item)
        return items


def number_calls(turns: Iterable[Turn]) -> dict[str, int]:
    """Return for each call how often its tool has been called up to it."""
    counts: Counter[str] = Counter()
    numbers: dict[str, int] = {}
    for turn in turns:
        for call in turn.calls:
            counts[call.name] += 1
            # An id may come again in a later turn: the last one is the one that counts.
            numbers[call.call_id] = counts[call.name]
    return numbers


def _to_call(part: CallPart) -> ToolCall:
    return ToolCall(part.call_id, part.name, part.args)


def _create_key(view: RunView, call_id: str) -> str:
    steps = map(str, (*view.outer_steps, view.step))
    identity = "\0".join((view.run_id, *view.path, *steps, call_id))
    return hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()[:32]
