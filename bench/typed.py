"""Typed results: the whole value, and the value while it grows, beside other libraries."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench import peers
from bench.contest import Contest, contest_section
from bench.engine import Reads
from bench.goal import MAX_PER_DOUBLING, Goal
from bench.measure import Contestant, race
from bench.streams import Stream
from bench.typed_stream import Survey, survey
from headrace import stream as ask

RESULT = "**Headrace**, `stream(…).output`"
RESULT_PYDANTIC = "Headrace with the pydantic model"
PARTIALS = "**Headrace**, `partial()`"
PYDANTIC_AI_RESULT = "pydantic-ai, `run_stream().get_output()`"
PYDANTIC_AI_PARTIALS = "pydantic-ai, `stream_output()`"
INSTRUCTOR = "instructor, `create_partial()`"

_CHUNKS = 1_000
_QUESTION = "How high is the water?"


@dataclass
class PartialGrowth:
    """CPU seconds of `partial()` over answers of growing size, the smallest first."""

    text_bytes: list[int]
    cost_s: list[float]

    @property
    def per_doubling(self) -> float:
        """By how much the time grows when the answer doubles: 2 is linear."""
        doublings = math.log2(self.text_bytes[-1] / self.text_bytes[0])
        return float((self.cost_s[-1] / self.cost_s[0]) ** (1 / doublings))


@dataclass
class Typed:
    """All that was measured about typed results."""

    results: Contest
    partials: Contest
    values: dict[str, int]
    """How many partial values each library yields of the same stream."""
    growth: PartialGrowth


def typed(scale: int, fewer: int, tell: Callable[[str], None]) -> Typed:
    """Race over one answer, then over answers of doubled sizes."""
    stream = survey(_CHUNKS // scale)
    partials = _race_partials(stream, fewer, tell)
    return Typed(
        _race_results(stream, fewer, tell),
        partials,
        {one.name: one.run() for one in partials.contestants},
        _grow(scale, 9 // fewer, tell),
    )


def _race_results(stream: Stream, fewer: int, tell: Callable[[str], None]) -> Contest:
    reads, least = stream.reads, stream.text.count('"note"')
    contestants = [
        Contestant(RESULT, headrace_result(reads, Survey), 15 // fewer, least),
        Contestant(
            RESULT_PYDANTIC, headrace_result(reads, peers.survey_model()), 15 // fewer, least
        ),
        Contestant(PYDANTIC_AI_RESULT, peers.pydantic_ai_result(reads), 5 // fewer, least),
        Contestant(INSTRUCTOR, peers.instructor_partials(reads), 3 // fewer, least),
    ]
    race(contestants, tell)
    return Contest("A typed result", stream, len(reads), contestants)


def _race_partials(stream: Stream, fewer: int, tell: Callable[[str], None]) -> Contest:
    reads, least = stream.reads, stream.text.count('"note"')
    contestants = [
        Contestant(PARTIALS, headrace_partials(reads), 15 // fewer, least),
        Contestant(PYDANTIC_AI_PARTIALS, peers.pydantic_ai_partials(reads), 3 // fewer, least),
        Contestant(INSTRUCTOR, peers.instructor_partials(reads), 3 // fewer, least),
    ]
    race(contestants, tell)
    return Contest("A typed result while it grows", stream, len(reads), contestants)


def _grow(scale: int, rounds: int, tell: Callable[[str], None]) -> PartialGrowth:
    streams = [survey(chunks // scale) for chunks in (4_000, 8_000, 16_000)]
    contestants = [
        Contestant(f"partials, {len(one.text):,} bytes", headrace_partials(one.reads), rounds)
        for one in streams
    ]
    race(contestants, tell)
    return PartialGrowth(
        [len(one.text.encode()) for one in streams], [one.cost_s for one in contestants]
    )


def headrace_result(reads: list[bytes], output_type: Any) -> Callable[[], int]:
    """Read the stream to its end, and count the places of its value."""

    async def main() -> int:
        turn = _ask(reads, output_type)
        async with turn:
            async for _ in turn:
                pass
        return len(turn.output.places)

    return lambda: asyncio.run(main())


def headrace_partials(reads: list[bytes]) -> Callable[[], int]:
    """Read the value while it grows, and count the values."""

    async def main() -> int:
        seen = 0
        turn = _ask(reads, Survey)
        async with turn:
            async for _ in turn.partial():
                seen += 1
        return seen

    return lambda: asyncio.run(main())


def _ask(reads: list[bytes], output_type: Any) -> Any:
    return ask(
        "openai-chat:gpt-5",
        _QUESTION,
        output_type=output_type,
        transport=Reads(reads),
        api_key="none",
    )


def typed_goals(measured: Typed) -> list[Goal]:
    """The goals of the sections about typed results."""
    to_result = measured.results.ratio(PYDANTIC_AI_RESULT, RESULT)
    to_instructor = measured.partials.ratio(INSTRUCTOR, PARTIALS)
    to_partials = measured.partials.ratio(PYDANTIC_AI_PARTIALS, PARTIALS)
    return [
        Goal("pydantic-ai typed result vs ours", to_result, 10, is_ceiling=False),
        Goal("pydantic-ai partials vs ours", to_partials, 10, is_ceiling=False),
        Goal("instructor partials vs ours", to_instructor, 10, is_ceiling=False),
        Goal("time per doubling, partials", measured.growth.per_doubling, MAX_PER_DOUBLING),
    ]


def typed_sections(measured: Typed) -> list[str]:
    """The sections about typed results."""
    growth = measured.growth
    counts = ", ".join(
        f"{name.partition(',')[0].strip('*')} {count:,}" for name, count in measured.values.items()
    )
    lines = [
        "| answer, bytes | ms for all partial values |",
        "|---:|---:|",
        *(
            f"| {size:,} | {cost * 1_000:,.1f} |"
            for size, cost in zip(growth.text_bytes, growth.cost_s, strict=True)
        ),
        "",
        f"Per doubling of the answer: {growth.per_doubling:.2f} (2 is linear).",
    ]
    return [
        contest_section(measured.results, "chunk", RESULT),
        _RESULTS,
        contest_section(measured.partials, "chunk", PARTIALS),
        f"Values that were yielded: {counts}.",
        "\n".join(lines),
    ]


_RESULTS = """
The answer is one JSON object, four characters in a chunk. `create()` of instructor does not stream,
so its partial values are read to the last.
"""
