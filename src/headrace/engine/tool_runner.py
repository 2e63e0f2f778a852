"""The calls of one turn at work: side by side, each within its bounds, results in the order
of the calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from headrace.engine.limits import RunLimits
from headrace.engine.middleware.chain import Chain, MiddlewareFailed
from headrace.engine.middleware.middleware import Allow, Deny, RunView, ToolCall
from headrace.errors import HeadraceError, Terminate
from headrace.events import ToolProgress, ToolResult, ToolStarted
from headrace.messages import CallPart
from headrace.messages.provider_history import NOT_RUN, explain_not_run
from headrace.secrets.scrub import scrub
from headrace.tools import Tool, ToolContext, ToolReturn, Toolset, failure
from headrace.tools.result import shortened

STOPPED = "The call was stopped: the run ended before its result was known."


class _Job:
    """One call, from its start to its result."""

    def __init__(self, call: ToolCall, tool: Tool, context: ToolContext) -> None:
        self.call = call
        self.tool = tool
        self.context = context
        self.task: asyncio.Task[None] | None = None
        self.result: ToolReturn | None = None


class ToolRunner:
    """Runs the calls of a turn. Iterate over `events()`; `close()` ends whatever still
    runs. After either, `results` has an answer to every call."""

    def __init__(self, view: RunView, chain: Chain, tools: Toolset, limits: RunLimits) -> None:
        self._view = view
        self._chain = chain
        self._tools = tools
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.max_parallel_tools)
        self._asking: asyncio.Task[None] | None = None
        self._is_closing = False
        self._news: asyncio.Queue[ToolStarted | ToolProgress | _Job | None] = asyncio.Queue()
        self._jobs: dict[str, _Job] = {}
        self._order: list[str] = []
        self._told = 0
        self._results: dict[str, ToolReturn] = {}
        self._terminate: HeadraceError | None = None
        self.ends_run: str | None = None
        """The tool that asked for the end of the run."""

    async def events(
        self, calls: list[CallPart]
    ) -> AsyncIterator[ToolStarted | ToolProgress | ToolResult]:
        """What happens at work. Raises `Terminate` or `MiddlewareFailed` at once; `close()`
        then ends the calls that still run."""
        self._order = [call.call_id for call in calls]
        self._asking = asyncio.create_task(self._ask_all(calls), name="calls")
        while True:
            for result in self._ready():
                yield result
            if self._told == len(self._order):
                break
            news = await self._news.get()
            if isinstance(news, _Job):
                self._over(news)
            elif news is not None:
                yield news
            if self._terminate is not None:
                raise self._terminate

    async def _ask_all(self, calls: list[CallPart]) -> None:
        """Middleware is asked call by call, while those that may already run."""
        try:
            for call in calls:
                await self._begin(call)
                self._news.put_nowait(None)
        except (Terminate, MiddlewareFailed) as error:
            self._terminate = self._terminate or error
            self._news.put_nowait(None)

    async def _begin(self, part: CallPart) -> None:
        tool = self._tools.get(part.name)
        if part.error is not None:
            self._results[part.call_id] = failure(explain_not_run(part))
        elif part.ended_ms is None:
            self._results[part.call_id] = failure("The arguments were never whole.")
        elif tool is None:
            names = ", ".join(self._tools.names) or "none"
            self._results[part.call_id] = failure(f"No tool {part.name!r}: there are {names}")
        else:
            await self._ask(ToolCall(part.call_id, part.name, part.args), tool)

    async def _ask(self, call: ToolCall, tool: Tool) -> None:
        decision = await self._chain.before_tool(self._view, call)
        if isinstance(decision, Deny):
            reason = decision.reason
            answer = reason if isinstance(reason, ToolReturn) else failure(str(reason))
            self._results[call.call_id] = answer
            return
        self._start(ToolCall(call.call_id, call.name, _allowed(decision)), tool)

    def _start(self, call: ToolCall, tool: Tool) -> None:
        loop = asyncio.get_running_loop()
        put = self._news.put_nowait

        def report(news: ToolProgress) -> None:
            # A thread that was left behind may report after the loop has closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(put, news)

        context = ToolContext(
            run_id=self._view.run_id,
            step=self._view.step,
            call_id=call.call_id,
            name=call.name,
            report=report,
        )
        job = _Job(call, tool, context)
        self._jobs[call.call_id] = job
        job.task = asyncio.create_task(self._work(job), name=f"tool {call.name}")

    async def _work(self, job: _Job) -> None:
        try:
            # The tool's own slot first: a call that waits for it must not keep others waiting.
            async with job.tool.slots(), self._slots:
                self._news.put_nowait(ToolStarted(job.call.call_id, job.call.args))
                result = await self._within_time(job)
                result = await self._chain.after_tool(self._view, job.call, result)
            max_chars = job.tool.max_result_chars or self._limits.max_result_chars
            job.result = shortened(result, max_chars)
        except (Terminate, MiddlewareFailed) as error:
            self._terminate = self._terminate or error
            job.result = failure(f"The run was ended: {error}")
        except BaseException as error:
            if self._is_closing or isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            why = scrub(f"{type(error).__name__}: {error}")
            job.result = failure(f"{job.call.name} failed: {why}")
        finally:
            self._news.put_nowait(job)

    async def _within_time(self, job: _Job) -> ToolReturn:
        timeout_s = job.tool.timeout_s or self._limits.tool_timeout_s
        timer = asyncio.timeout(timeout_s)
        try:
            async with timer:
                return await job.tool.execute(job.call.args, job.context)
        except TimeoutError:
            if not timer.expired():
                raise
        job.context.cancel()
        return failure(f"{job.call.name} took longer than {timeout_s:g} s and was stopped")

    def _over(self, job: _Job) -> None:
        if job.result is not None:
            self._results[job.call.call_id] = job.result
            if job.result.ends_run and self.ends_run is None:
                self.ends_run = job.call.name

    def _ready(self) -> list[ToolResult]:
        """The results whose turn it is."""
        ready: list[ToolResult] = []
        while self._told < len(self._order):
            call_id = self._order[self._told]
            result = self._results.get(call_id)
            if result is None:
                break
            ready.append(_told(call_id, result))
            self._told += 1
        return ready

    async def close(self) -> list[ToolStarted | ToolProgress | ToolResult]:
        """Stop what runs, wait for it, and answer every call that was not answered: with
        its result where it had one."""
        self._is_closing = True
        tasks = [job.task for job in self._jobs.values() if job.task and not job.task.done()]
        if self._asking is not None and not self._asking.done():
            tasks.append(self._asking)
        for job in self._jobs.values():
            job.context.closing_s = self._limits.closing_s
            job.context.cancel()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=self._limits.closing_s)
        for job in self._jobs.values():
            self._over(job)
        for call_id in self._order:
            words = STOPPED if call_id in self._jobs else NOT_RUN
            self._results.setdefault(call_id, failure(words))
        return [*self._untold(), *self._ready()]

    def _untold(self) -> list[ToolStarted | ToolProgress]:
        """What was reported, and not told yet."""
        told: list[ToolStarted | ToolProgress] = []
        while not self._news.empty():
            news = self._news.get_nowait()
            if isinstance(news, ToolStarted | ToolProgress):
                told.append(news)
        return told


def _allowed(decision: Allow | Deny) -> object:
    assert isinstance(decision, Allow)
    return decision.args


def _told(call_id: str, result: ToolReturn) -> ToolResult:
    return ToolResult(
        call_id=call_id, content=result.content, kind=result.kind, is_error=result.is_error
    )


def unanswered(call: CallPart) -> ToolResult:
    """The answer to a call that nothing will run."""
    return _told(call.call_id, failure(explain_not_run(call)))
