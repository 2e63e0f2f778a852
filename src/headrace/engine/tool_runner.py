"""`ToolRunner`: runs the calls of one turn in parallel, and reports results in call order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from headrace.encoders import ToolSpec
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.chain import Chain, MiddlewareFailed
from headrace.engine.middleware.middleware import Deny, RunView, ToolCall
from headrace.engine.run_logger import ToolLogger
from headrace.errors import HeadraceError, Terminate
from headrace.events import ToolProgress, ToolResult, ToolStarted
from headrace.messages import CallPart
from headrace.messages.provider_history import NOT_RUN, explain_not_run
from headrace.secrets.scrub import scrub
from headrace.tools import Tool, ToolContext, ToolReturn, Toolset, tool_error
from headrace.tools.result import limit_size

STOPPED = "The call was stopped: the run ended before its result was known."


@dataclass(eq=False)
class _Job:
    """One call, from its start to its result."""

    call: ToolCall
    tool: Tool
    context: ToolContext
    task: asyncio.Task[None] | None = None
    result: ToolReturn | None = None


class ToolRunner:
    """Runs the calls of a turn. Iterate over `events()`; `close()` stops the calls that still
    run. After either, every call has been answered."""

    def __init__(self, view: RunView, chain: Chain, tools: Toolset, limits: RunLimits) -> None:
        self._view = view
        self._chain = chain
        self._tools = tools
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.max_parallel_tools)
        self._starter: asyncio.Task[None] | None = None
        self._is_closing = False
        self._reports: asyncio.Queue[ToolStarted | ToolProgress | _Job | None] = asyncio.Queue()
        self._jobs: dict[str, _Job] = {}
        self._order: list[str] = []
        self._reported_results = 0
        self._results: dict[str, ToolReturn] = {}
        self._error: HeadraceError | None = None
        self.ends_run: str | None = None
        """The name of the tool that asked to end the run, or None."""

    async def events(
        self, calls: list[CallPart]
    ) -> AsyncIterator[ToolStarted | ToolProgress | ToolResult]:
        """Run the calls and iterate over their events. Raises `Terminate` or `MiddlewareFailed`
        at once; call `close()` then to stop the calls that still run."""
        self._order = [call.call_id for call in calls]
        self._starter = asyncio.create_task(self._start_all(calls), name="calls")
        while True:
            for result in self._next_results():
                yield result
            if self._reported_results == len(self._order):
                break
            report = await self._reports.get()
            if isinstance(report, _Job):
                self._finish(report)
            elif report is not None:
                yield report
            if self._error is not None:
                raise self._error

    async def _start_all(self, calls: list[CallPart]) -> None:
        """Ask middleware about one call after the other; calls that were allowed run already."""
        try:
            for call in calls:
                await self._start(call)
                self._reports.put_nowait(None)
        except (Terminate, MiddlewareFailed) as error:
            self._error = self._error or error
            self._reports.put_nowait(None)

    async def _start(self, part: CallPart) -> None:
        tool = self._tools.get(part.name)
        if part.error is not None:
            self._results[part.call_id] = tool_error(explain_not_run(part))
        elif part.ended_ms is None:
            self._results[part.call_id] = tool_error("The arguments are incomplete.")
        elif tool is None:
            names = ", ".join(self._tools.names) or "none"
            self._results[part.call_id] = tool_error(f"No tool {part.name!r}: there are {names}")
        else:
            await self._ask_middleware(ToolCall(part.call_id, part.name, part.args), tool)

    async def _ask_middleware(self, call: ToolCall, tool: Tool | ToolSpec) -> None:
        decision = await self._chain.before_tool(self._view, call)
        if isinstance(decision, Deny):
            reason = decision.reason
            answer = reason if isinstance(reason, ToolReturn) else tool_error(str(reason))
            self._results[call.call_id] = answer
        elif isinstance(tool, ToolSpec):
            text = f"{tool.name} has no function, so the call was not run."
            self._results[call.call_id] = tool_error(text)
        else:
            self._run(ToolCall(call.call_id, call.name, decision.args), tool)

    def _run(self, call: ToolCall, tool: Tool) -> None:
        loop = asyncio.get_running_loop()
        put = self._reports.put_nowait

        def report(progress: ToolProgress) -> None:
            # A thread that was left behind may report after the loop has closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(put, progress)

        context = ToolContext(
            run_id=self._view.run_id,
            step=self._view.step,
            call_id=call.call_id,
            name=call.name,
            report=report,
        )
        job = _Job(call, tool, context)
        self._jobs[call.call_id] = job
        job.task = asyncio.create_task(self._execute(job), name=f"tool {call.name}")

    async def _execute(self, job: _Job) -> None:
        logger: ToolLogger | None = None
        try:
            # The slot of the tool first: a call that waits for it must not block other tools.
            async with job.tool.slots(), self._slots:
                logger = ToolLogger(self._view.run_id, job.call.name, job.call.call_id)
                self._reports.put_nowait(ToolStarted(job.call.call_id, job.call.args))
                result = await self._execute_in_time(job)
                result = await self._chain.after_tool(self._view, job.call, result)
            max_chars = job.tool.max_result_chars or self._limits.max_result_chars
            job.result = limit_size(result, max_chars)
        except (Terminate, MiddlewareFailed) as error:
            self._error = self._error or error
            job.result = tool_error(f"The run was ended: {error}")
        except BaseException as error:
            if self._is_closing or isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            why = scrub(f"{type(error).__name__}: {error}")
            job.result = tool_error(f"{job.call.name} failed: {why}")
        finally:
            if logger is not None:
                logger.log_end(None if job.result is None else job.result.is_error)
            self._reports.put_nowait(job)

    async def _execute_in_time(self, job: _Job) -> ToolReturn:
        timeout_s = job.tool.timeout_s or self._limits.tool_timeout_s
        timer = asyncio.timeout(timeout_s)
        try:
            async with timer:
                return await job.tool.execute(job.call.args, job.context)
        except TimeoutError:
            if not timer.expired():
                raise
        job.context.cancel()
        return tool_error(f"{job.call.name} took longer than {timeout_s:g} s and was stopped")

    def _finish(self, job: _Job) -> None:
        if job.result is not None:
            self._results[job.call.call_id] = job.result
            if job.result.ends_run and self.ends_run is None:
                self.ends_run = job.call.name

    def _next_results(self) -> list[ToolResult]:
        """Return the results that come next in the order of the calls, as far as they are known."""
        ready: list[ToolResult] = []
        while self._reported_results < len(self._order):
            call_id = self._order[self._reported_results]
            result = self._results.get(call_id)
            if result is None:
                break
            ready.append(_result_event(call_id, result))
            self._reported_results += 1
        return ready

    async def close(self, closing_s: float) -> list[ToolStarted | ToolProgress | ToolResult]:
        """Stop the calls that run, wait for them for `closing_s`, and return the events that are
        left: each call gets its result, or an error result if it has none.

        A call that goes on after that is left behind, and nothing of it is reported any more.
        """
        self._is_closing = True
        tasks = [job.task for job in self._jobs.values() if job.task and not job.task.done()]
        if self._starter is not None and not self._starter.done():
            tasks.append(self._starter)
        for job in self._jobs.values():
            job.context.closing_s = closing_s
            job.context.cancel()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=closing_s)
        for job in self._jobs.values():
            self._finish(job)
        for call_id in self._order:
            text = STOPPED if call_id in self._jobs else NOT_RUN
            self._results.setdefault(call_id, tool_error(text))
        events: list[ToolStarted | ToolProgress | ToolResult] = []
        while not self._reports.empty():
            report = self._reports.get_nowait()
            if isinstance(report, ToolStarted | ToolProgress):
                events.append(report)
        return [*events, *self._next_results()]


def _result_event(call_id: str, result: ToolReturn) -> ToolResult:
    return ToolResult(
        call_id=call_id, content=result.content, kind=result.kind, is_error=result.is_error
    )


def result_of_skipped(call: CallPart) -> ToolResult:
    """Return the result of a call that will not be run."""
    return _result_event(call.call_id, tool_error(explain_not_run(call)))
