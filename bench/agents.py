"""A whole agent turn: our engine beside other agent loops, over the same stream."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench import peers, streams
from bench.contest import Contest
from bench.engine import engine
from bench.measure import Contestant, race
from bench.ours import headrace
from headrace.engine import Agent
from headrace.rehearsal.script import say, think, turn
from headrace.rehearsal.transport import ScriptedTransport

DECODING = "decoding alone"
ENGINE = "**Headrace**, `agent.run`, one observer"
PYDANTIC_AI_RUN = "pydantic-ai, `run_stream_events`"
OPENAI_AGENTS = "openai-agents, `run_streamed`"


def agents(events: int, fewer: int, tell: Callable[[str], None]) -> Contest:
    """One turn of so many events."""
    stream = streams.chat_answer(events)
    reads, least = stream.reads, events * 9 // 10
    contestants = [
        Contestant(DECODING, headrace(reads, "chat", keeps_message=False), 15 // fewer, least),
        Contestant(ENGINE, engine(reads), 15 // fewer, least),
        Contestant(PYDANTIC_AI_RUN, peers.pydantic_ai_run(reads), 3 // fewer or 1, events // 10),
        Contestant(OPENAI_AGENTS, peers.openai_agents_run(reads), 3 // fewer or 1, events // 10),
    ]
    race(contestants, tell)
    return Contest("An agent's turn", stream, len(reads), contestants)


@dataclass
class Crowd:
    """Runs side by side in one process."""

    runs: tuple[int, int]
    bytes_a_run: tuple[float, float]
    cost_s: tuple[float, float]

    @property
    def growth(self) -> float:
        """How much longer twice the runs take."""
        return self.cost_s[1] / self.cost_s[0]


def crowd(scale: int, tell: Callable[[str], None]) -> Crowd:
    """Memory and time of many runs of the scripted model at once."""
    sizes = (500 // scale, 1_000 // scale)
    tell(f"{sizes[1]:,} runs at once")
    together = [Contestant(f"{size:,} runs", _together(size), 5, size) for size in sizes]
    race(together, tell)
    memory = [_memory(size) / size for size in sizes]
    return Crowd(sizes, (memory[0], memory[1]), (together[0].cost_s, together[1].cost_s))


def _together(runs: int) -> Callable[[], int]:
    return lambda: asyncio.run(_all(runs))


async def _all(runs: int) -> int:
    done = await asyncio.gather(*(_one() for _ in range(runs)))
    return sum(done)


async def _one() -> int:
    script = [turn(think("Let me see how much that is."), say("It is about a bucket a second."))]
    transport = ScriptedTransport(script, dialect="chat")
    agent: Any = Agent("openai-chat:gpt-5", transport=transport, api_key="none")
    async with agent.run("How much water reaches the wheel?") as run:
        result = await run.wait()
    return bool(result.text)


def _memory(runs: int) -> int:
    gc.collect()
    tracemalloc.start()
    asyncio.run(_all(runs))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
