"""Tools at work: threads, errors, cancellation, progress and bounds."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from headrace.engine import Agent, RunLimits, Terminate
from headrace.events import ToolProgress, ToolResult
from headrace.testing import ScriptedTransport, call, run_virtual, say, turn
from headrace.tools import Tool, ToolContext, ToolReturn, tool
from headrace.tools.context import MAX_REPORT_CHARS, MAX_REPORTS
from headrace.tools.left_behind import CURRENT_CALLS, LeftBehindCalls
from tests.engine.tools.calls import called, complaint, told, value

who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


# --- where it runs ------------------------------------------------------------------


def test_a_plain_function_runs_in_a_thread_with_the_callers_context():
    def work() -> str:
        assert threading.current_thread() is not threading.main_thread()
        said = who.get()
        who.set("the tool")
        return said

    async def run() -> ToolReturn:
        who.set("the caller")
        result = await Tool(work).execute({}, ToolContext())
        assert who.get() == "the caller"
        return result

    assert value(asyncio.run(run())) == "the caller"


def test_plain_functions_run_side_by_side_however_many():
    together = threading.Barrier(40, timeout=60)

    def work() -> str:
        together.wait()
        return "met"

    async def run() -> list[ToolReturn]:
        calls = [Tool(work).execute({}, ToolContext()) for _ in range(40)]
        return await asyncio.gather(*calls)

    assert {value(result) for result in asyncio.run(run())} == {"met"}


# --- what it raises -----------------------------------------------------------------


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


RAISED = [
    ValueError("no"),
    KeyError(3),
    StopIteration(3),
    SystemExit(1),
    Silent(),
    RecursionError(),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_a_tool_raises_is_a_result(error: BaseException, is_async: bool):
    def work() -> None:
        raise error

    async def work_async() -> None:
        raise error

    said = complaint(called(work_async if is_async else work))
    assert " failed: " in said
    # Python makes it `RuntimeError: coroutine raised StopIteration`.
    assert type(error).__name__ in said


def test_terminate_leaves_the_tool():
    def work() -> None:
        raise Terminate("enough")

    with pytest.raises(Terminate, match="enough"):
        called(work)


def test_a_cancellation_of_its_own_is_an_error_and_not_that_of_the_run():
    async def work() -> None:
        raise asyncio.CancelledError

    assert "cancelled from within" in complaint(called(work))


# --- cancellation -------------------------------------------------------------------


async def cancelled(made: Tool, context: ToolContext, started: threading.Event) -> float:
    """Cancel a call that has started; how long that took."""
    task = asyncio.create_task(made.execute({}, context))
    while not started.is_set():
        await asyncio.sleep(0.001)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.monotonic() - began


def test_a_thread_that_looks_at_the_flag_is_waited_for():
    started, ended = threading.Event(), threading.Event()

    def work(context: ToolContext) -> None:
        started.set()
        assert context.wait(20)
        time.sleep(0.05)
        ended.set()

    async def run() -> None:
        await cancelled(Tool(work), ToolContext(), started)
        assert ended.is_set()

    asyncio.run(run())


def test_a_thread_that_ignores_the_flag_is_left_behind():
    started, end = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        end.wait(60)

    took = asyncio.run(cancelled(Tool(work), ToolContext(closing_s=0.2), started))
    end.set()
    assert took < 30


def test_a_coroutine_that_refuses_to_end_is_left_behind():
    started, end = threading.Event(), threading.Event()

    async def work() -> None:
        while not end.is_set():
            try:
                started.set()
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass

    async def run() -> float:
        took = await cancelled(Tool(work), ToolContext(closing_s=0.2), started)
        end.set()
        return took

    assert asyncio.run(run()) < 2


@pytest.mark.parametrize("is_async", [False, True])
def test_calls_that_are_left_behind_are_limited_until_they_end(is_async: bool):
    started, end = threading.Event(), threading.Event()
    everybody = LeftBehindCalls(3)
    mine = LeftBehindCalls(2, everybody)

    def work() -> str:
        started.set()
        end.wait(60)
        return "done"

    async def work_on() -> str:
        while not end.is_set():
            try:
                started.set()
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass
        return "done"

    made = Tool(work_on if is_async else work, name="stubborn")

    async def leave(calls: LeftBehindCalls) -> None:
        CURRENT_CALLS.set(calls)
        started.clear()
        await cancelled(made, ToolContext(closing_s=0.01), started)

    async def run() -> None:
        await leave(mine)
        await leave(mine)
        assert (len(mine), len(everybody)) == (2, 2)
        assert "stubborn was not run: 2 stopped" in complaint(await made.execute({}, ToolContext()))
        other = LeftBehindCalls(2, everybody)
        await leave(other)
        assert (len(other), len(everybody)) == (1, 3)
        assert "not run: 3 stopped" in complaint(await made.execute({}, ToolContext()))
        end.set()
        while len(everybody):
            await asyncio.sleep(0.001)
        assert (len(mine), len(other)) == (0, 0)
        CURRENT_CALLS.set(mine)
        assert value(await made.execute({}, ToolContext())) == "done"

    asyncio.run(run())
    assert (len(mine), len(everybody)) == (0, 0)


def test_a_coroutine_cleans_up_before_the_cancellation_is_over():
    started = threading.Event()
    ended: list[str] = []

    async def work() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append("clean")

    async def run() -> None:
        await cancelled(Tool(work), ToolContext(), started)
        assert ended == ["clean"]

    asyncio.run(run())


def test_a_process_ends_although_a_tool_does_not():
    code = """
import asyncio, time
from headrace.tools import Tool, ToolContext
def stuck(): time.sleep(600)
async def main():
    task = asyncio.create_task(Tool(stuck).execute({}, ToolContext(closing_s=0.1)))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])
asyncio.run(main())
print("over")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == (b"over\n", b"")


# --- in a run -----------------------------------------------------------------------


def agent(script: Any, *tools: Any, **options: Any) -> Agent:
    transport = ScriptedTransport(script)
    return Agent("vllm:any", transport=transport, tools=tools, **options)


def test_a_run_is_not_held_up_by_a_tool_that_never_ends():
    end = threading.Event()

    def stuck() -> None:
        end.wait(60)

    async def run() -> float:
        limits = RunLimits(closing_s=0.3)
        async with agent([turn(call("stuck"))], stuck, limits=limits).run("Go") as live:
            async for record in live.records():
                if type(record.event).__name__ == "ToolStarted":
                    began = time.monotonic()
                    break
        (result,) = [r.event for r in live.records_so_far if isinstance(r.event, ToolResult)]
        assert result.is_error
        return time.monotonic() - began

    took = asyncio.run(run())
    end.set()
    assert took < 30


def test_a_cancel_takes_less_than_a_second_whatever_the_tool_does():
    async def deaf(context: ToolContext) -> str:
        until = asyncio.get_running_loop().time() + 600
        while asyncio.get_running_loop().time() < until:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.1)
                context.progress("still here")
        return "late"

    async def run() -> tuple[float, list[Any], list[Any]]:
        loop = asyncio.get_running_loop()
        async with agent([turn(call("deaf"))], deaf).run("Go") as live:
            async for record in live.records():
                if type(record.event).__name__ == "ToolStarted":
                    break
            began = loop.time()
            live.cancel()
            await live.wait()
            took, records = loop.time() - began, list(live.records_so_far)
            await asyncio.sleep(1_000)
            return took, records, live.records_so_far

    took, records, later = run_virtual(run(), leftover=[])
    assert took < 1
    # The tool goes on, but nothing of it follows the end of the run.
    assert later == records
    assert type(records[-1].event).__name__ == "RunFinished"


def test_a_timeout_is_a_result_and_the_run_goes_on():
    @tool(timeout_s=30)
    async def slow() -> None:
        await asyncio.sleep(3_600)

    async def run() -> str:
        script = [turn(call("slow")), turn(say("Too slow."))]
        async with agent(script, slow).run("Go") as live:
            result = await live.wait()
        (told_of,) = [r.event for r in live.records_so_far if isinstance(r.event, ToolResult)]
        assert "took longer than 30 s" in str(told_of.content)
        return result.text

    assert run_virtual(run()) == "Too slow."


def test_no_more_calls_of_a_tool_run_at_once_than_it_allows():
    running: list[int] = []
    most: list[int] = []

    @tool(max_concurrent=2)
    async def work(n: int) -> int:
        running.append(n)
        most.append(len(running))
        await asyncio.sleep(1)
        running.remove(n)
        return n

    async def run() -> list[Any]:
        script = [turn(*(call("work", n=n) for n in range(6))), turn(say("Done."))]
        async with agent(script, work).run("Go") as live:
            await live.wait()
        return [r.event.content for r in live.records_so_far if isinstance(r.event, ToolResult)]

    results = run_virtual(run())
    assert max(most) == 2
    assert [entry[0].value for entry in results] == list(range(6))


def test_progress_from_a_thread_comes_before_the_result():
    def work(context: ToolContext) -> str:
        for n in range(3):
            context.progress("working", progress=n / 2)
        context.log("a line")
        return context.run_id + str(context.step) + context.name

    async def run() -> list[Any]:
        script = [turn(call("work")), turn(say("Done."))]
        async with agent(script, work).run("Go", run_id="r1") as live:
            await live.wait()
        kinds = ToolProgress | ToolResult
        return [r.event for r in live.records_so_far if isinstance(r.event, kinds)]

    *reports, result = asyncio.run(run())
    assert [report.progress for report in reports] == [0.0, 0.5, 1.0, None]
    assert reports[-1].log == "a line"
    assert result.content[0].text == "r10work"


# --- progress -----------------------------------------------------------------------


def test_reports_are_bounded_and_clean():
    heard: list[ToolProgress] = []
    context = ToolContext(call_id="c", report=heard.append)
    context.progress("x" * 100_000, progress=7, log="caf\udce9")
    assert len(heard[0].status or "") == MAX_REPORT_CHARS + 1
    assert (heard[0].progress, heard[0].log) == (1.0, "caf?")
    for _ in range(MAX_REPORTS + 5):
        context.log("again")
    assert len(heard) == MAX_REPORTS
    assert "MAX_REPORTS" in (heard[-1].log or "")
    with pytest.raises(ValueError, match="share"):
        context.progress(progress=float("nan"))


def test_nobody_hears_of_a_call_that_is_cancelled():
    heard: list[ToolProgress] = []
    context = ToolContext(report=heard.append)
    context.cancel()
    context.progress("late")
    assert heard == []
    assert context.wait(0)


def test_an_error_text_is_told():
    def fail() -> None:
        raise ValueError("no such place")

    assert told(called(fail)) == "fail failed: ValueError: no such place"


def test_a_timeout_waits_but_a_moment_for_a_thread_that_does_not_end():
    end = threading.Event()

    @tool(timeout_s=0.1)
    def stuck() -> None:
        end.wait(60)

    async def run() -> tuple[str, float]:
        script = [turn(call("stuck")), turn(say("Too slow."))]
        began = time.monotonic()
        async with agent(script, stuck).run("Go") as live:
            result = await live.wait()
        return result.text, time.monotonic() - began

    text, took = asyncio.run(run())
    end.set()
    assert text == "Too slow."
    assert took < 30
