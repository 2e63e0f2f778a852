"""Time that jumps: waits cost nothing, hangs are said, nothing is left behind."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import AsyncIterator

import pytest

from headrace.rehearsal.clock import Hang, TasksLeft, VirtualLoop, run_virtual


def test_an_hour_costs_nothing() -> None:
    async def sleep() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    began_s = time.monotonic()
    assert run_virtual(sleep()) == pytest.approx(3600)
    assert time.monotonic() - began_s < 60


def test_timers_come_in_their_order() -> None:
    order: list[str] = []

    async def note(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append(name)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(2, order.append, "timer")
        await asyncio.gather(note("slow", 3), note("quick", 1), note("also quick", 1))

    run_virtual(run())
    assert order == ["quick", "also quick", "timer", "slow"]


def test_timeouts_pass_in_virtual_time() -> None:
    async def run() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run_virtual(run()) == pytest.approx(30)


def test_many_small_waits_add_up() -> None:
    async def run() -> float:
        for _ in range(1_000):
            await asyncio.sleep(0.1)
        return asyncio.get_running_loop().time()

    assert run_virtual(run()) == pytest.approx(100)


def test_a_thread_is_waited_for_and_not_jumped_over() -> None:
    def work() -> str:
        time.sleep(0.02)
        return "done"

    async def run() -> str:
        async with asyncio.timeout(5):
            return await asyncio.to_thread(work)

    assert run_virtual(run()) == "done"


def test_a_thread_of_anybody_can_wake_it() -> None:
    async def run() -> str:
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[str] = loop.create_future()
        wake = functools.partial(loop.call_soon_threadsafe, woken.set_result, "yes")
        thread = threading.Timer(0.02, wake)
        thread.start()
        said = await woken
        thread.join()
        return said

    assert run_virtual(run()) == "yes"


def test_a_hang_is_said_and_cleaned_up() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("closed")

    with pytest.raises(Hang):
        run_virtual(wait(), within_s=0.2)
    assert ended == ["closed"]


def test_going_round_and_round_is_a_hang() -> None:
    async def spin() -> None:
        while True:
            await asyncio.sleep(1)

    with pytest.raises(Hang, match="round"):
        run_virtual(spin(), within_s=0.1)


def test_tasks_that_are_left_are_named_and_cancelled() -> None:
    ended: list[str] = []

    async def linger() -> None:
        try:
            await asyncio.sleep(99)
        finally:
            ended.append("cancelled")

    tasks: list[asyncio.Task[None]] = []

    async def run() -> int:
        tasks.append(asyncio.create_task(linger(), name="lingerer"))
        await asyncio.sleep(0)
        return 5

    with pytest.raises(TasksLeft, match="lingerer"):
        run_virtual(run())
    left: list[str] = []
    assert run_virtual(run(), leftover=left) == 5
    assert len(left) == 1
    assert ended == ["cancelled"] * 2


def test_generators_that_were_left_are_closed() -> None:
    ended: list[str] = []
    kept: list[AsyncIterator[int]] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            ended.append("closed")

    async def run() -> None:
        kept.append(numbers())
        await anext(kept[0])

    run_virtual(run())
    assert ended == ["closed"]


def test_what_the_coroutine_raises_comes_out() -> None:
    async def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_virtual(fail())


def test_the_loop_can_be_had_alone() -> None:
    loop = VirtualLoop()
    try:
        assert loop.time() == 0
        loop.run_until_complete(asyncio.sleep(2))
        assert loop.time() == pytest.approx(2)
    finally:
        loop.close()
