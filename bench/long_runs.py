"""Runs that wait for a person, and runs with many steps: what they cost."""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.goal import Goal
from headrace import Agent, RunLimits, tool
from headrace import events as ev
from headrace.engine.journal.journal import Journal
from headrace.messages import Message
from headrace.server.service import Service
from headrace.server.settings import Settings
from headrace.server.storage.store import RunStart, StoredMessage
from headrace.testing import ScriptedTransport, call, say, turn

RUNS = 10_000
STEPS = 400
_AT_ONCE = 50
_MAX_BOUNDARY_US = 50.0


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool
def look(at: int) -> str:
    """Look."""
    return "nothing"


@dataclass
class LongRuns:
    """All that was measured."""

    runs: int
    suspend_s: float
    before_mb: float
    after_mb: float
    start_s: float
    boundary_us: float
    """Median of the time from the end of a step to the start of the next one."""

    def goals(self) -> list[Goal]:
        """The promises about long runs."""
        return [Goal("a step boundary", self.boundary_us, _MAX_BOUNDARY_US, unit=" µs")]


def measure_long_runs(tell: Callable[[str], None], *, is_quick: bool) -> LongRuns:
    """Suspend many runs on one server, start another on the same folder, and play many steps."""
    runs, steps = (RUNS // 20, STEPS // 10) if is_quick else (RUNS, STEPS)
    tell(f"{runs} runs that wait for an approval")
    with tempfile.TemporaryDirectory() as name:
        figures = asyncio.run(_suspend(Path(name) / "data", runs))
        start_s = asyncio.run(_start(Path(name) / "data"))
    tell(f"a run of {steps} steps")
    return LongRuns(runs, *figures, start_s, asyncio.run(_measure_boundary(steps)))


def section(found: LongRuns) -> str:
    """The table."""
    return "\n".join(
        [
            "## Long runs",
            "",
            "| | |",
            "|---|---:|",
            f"| runs that wait for an approval | {found.runs:,} |",
            f"| time until all are suspended | {found.suspend_s:.1f} s |",
            f"| memory of the server before and after | {found.before_mb:.0f} MB,"
            f" {found.after_mb:.0f} MB |",
            f"| start of the next server | {found.start_s:.2f} s |",
            f"| from the end of a step to the start of the next | {found.boundary_us:.0f} µs |",
        ]
    )


def _create_service(data: Path) -> Service:
    def play(heard: Any) -> Any:
        return turn(call("pay", amount=5))

    transport = ScriptedTransport(play, keeps_requests=False)
    agent = Agent("vllm:any", transport=transport, tools=[pay])
    return Service({"any": agent}, Settings(data=data, max_live_runs=2 * RUNS))


async def _suspend(data: Path, runs: int) -> tuple[float, float, float]:
    service = _create_service(data)
    async with service:
        before, started_s = _memory_mb(), time.perf_counter()
        for number in range(runs):
            await _begin(service, number)
            while service.runs.count >= _AT_ONCE:
                await asyncio.sleep(0.001)
        while service.runs.count:
            await asyncio.sleep(0.001)
        gc.collect()
        return time.perf_counter() - started_s, before, _memory_mb()


async def _begin(service: Service, number: int) -> None:
    question, conversation_id = Message.user("Pay."), f"conv_{number}"
    prompt = StoredMessage(
        id=f"question_{number}", conversation_id=conversation_id, parent_id=None, message=question
    )
    start = RunStart(
        owner="local",
        run_id=f"run_{number}",
        message_id=f"msg_{number}",
        model="any",
        now_ms=service.clock(),
        fingerprint=str(number),
        conversation_id=conversation_id,
        is_new=True,
        prompt=prompt,
    )
    started = await service.store.begin(start)
    await service.runs.begin(started.run, service.agents["any"], [question])


async def _start(data: Path) -> float:
    started_s = time.perf_counter()
    async with _create_service(data):
        return time.perf_counter() - started_s


def _memory_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


async def _measure_boundary(steps: int) -> float:
    """Return the median time between two steps, both records included."""
    times: list[float] = []
    write = Journal.write
    ended_s = 0.0

    async def timed(self: Journal, events: Any, **options: Any) -> None:
        nonlocal ended_s
        if isinstance(events[-1] if events else None, ev.StepFinished):
            ended_s = time.perf_counter()
        await write(self, events, **options)
        if isinstance(events[0] if events else None, ev.StepStarted) and ended_s:
            times.append(time.perf_counter() - ended_s)

    def play(heard: Any) -> Any:
        done = sum(message.result is not None for message in heard.messages)
        return turn(say("Done.")) if done >= steps else turn(call("look", at=done))

    transport = ScriptedTransport(play, keeps_requests=False)
    limits = RunLimits(max_iterations=steps + 2)
    agent = Agent("vllm:any", transport=transport, tools=[look], limits=limits)
    Journal.write = timed  # type: ignore[method-assign]
    try:
        async with agent.run("Go.") as run:
            await run.wait()
    finally:
        Journal.write = write  # type: ignore[method-assign]
    return statistics.median(times) * 1e6
