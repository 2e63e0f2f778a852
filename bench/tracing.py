"""What OpenTelemetry adds to an agent's turn: with an SDK that exports to nowhere, side by side.

Turns are read from memory, with all events at once, and over HTTP from a provider in another
process, which sends event after event. The first shows the smallest turn that tracing could be
compared with, the second one as it happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from bench import streams
from bench.engine import Reads
from bench.goal import Goal
from bench.load.process import running
from bench.measure import Contestant, race
from headrace.engine import Agent, Middleware
from headrace.otel import OpenTelemetry, RecordedIds

MAX_SHARE = 15.0
"""Most that tracing may add to a turn, in percent."""
_SHORT = 500
_AT_ONCE, _OVER_HTTP = "in memory", "over HTTP"
_HTTP_TURNS = 10
_HTTP_RATE = 500
"""Turns that are read at the same time, and events per second of each."""


_ABOUT = f"""\
CPU time of an agent's turn, and what tracing adds to it, with an SDK that exports to nowhere.
*In memory* all events are there at once, and nothing is read from a socket. *Over HTTP*
{_HTTP_TURNS} turns come at the same time from a provider in another process, with {_HTTP_RATE}
events per second each."""


class _Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


@dataclass
class TurnCost:
    """CPU time of turns of one kind and length, without and with tracing."""

    source: str
    events: int
    plain_us: float = 0.0
    traced_us: float = 0.0

    @property
    def added_us(self) -> float:
        return self.traced_us - self.plain_us

    @property
    def share(self) -> float:
        """What tracing adds, in percent."""
        return 100 * self.added_us / self.plain_us


def measure_tracing(tell: Callable[[str], None], *, is_quick: bool) -> list[TurnCost]:
    """Measure a long and a short turn from memory, and a short one over HTTP."""
    long = streams.EVENTS // 10 if is_quick else streams.EVENTS
    rounds = 5 if is_quick else 15
    telemetry = _create_telemetry()
    costs: list[TurnCost] = []
    for events, turns in ((long, 1), (_SHORT, 10)):
        play = partial(_play, streams.chat_answer(events).reads, turns)
        costs.append(_compare(TurnCost(_AT_ONCE, events), turns, play, telemetry, rounds, tell))
    with running("bench.load.upstream", str(_SHORT), str(_HTTP_RATE), core=1) as upstream:
        play = partial(_play_over_http, f"http://127.0.0.1:{upstream.port()}/v1")
        cost = TurnCost(_OVER_HTTP, _SHORT)
        costs.append(_compare(cost, _HTTP_TURNS, play, telemetry, rounds, tell))
    return costs


def tracing_section(costs: Sequence[TurnCost]) -> str:
    """The table."""
    rows = [
        f"| {cost.source} | {cost.events:,} | {cost.plain_us:,.0f} µs | {cost.traced_us:,.0f} µs"
        f" | {cost.share:.1f} % |"
        for cost in costs
    ]
    head = "| turn | events | without | with OpenTelemetry | added |\n|---|---:|---:|---:|---:|"
    return "\n".join(["## Tracing", "", _ABOUT, "", head, *rows])


def tracing_goals(costs: Sequence[TurnCost]) -> list[Goal]:
    """The promises about tracing."""
    return [
        Goal(
            f"tracing, a turn of {cost.events:,} events {cost.source}",
            cost.share,
            MAX_SHARE,
            unit=" %",
        )
        for cost in costs
    ]


def _create_telemetry() -> OpenTelemetry:
    ids: Any = RecordedIds()
    tracers = TracerProvider(id_generator=ids, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(_Nowhere()))
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    return OpenTelemetry(tracer_provider=tracers, meter_provider=meters)


def _compare(
    cost: TurnCost,
    turns: int,
    play: Callable[[list[Middleware]], Callable[[], int]],
    telemetry: OpenTelemetry,
    rounds: int,
    tell: Callable[[str], None],
) -> TurnCost:
    least = turns * cost.events
    plain = Contestant(f"{cost.source}, without tracing", play([]), rounds, least)
    traced = Contestant(f"{cost.source}, with tracing", play([telemetry]), rounds, least)
    race([plain, traced], tell)
    scale = 1e6 / turns
    cost.plain_us, cost.traced_us = plain.cost_s * scale, traced.cost_s * scale
    return cost


def _play(reads: list[bytes], turns: int, middleware: list[Middleware]) -> Callable[[], int]:
    async def main() -> int:
        seen = 0
        for _ in range(turns):
            agent: Any = Agent(
                "openai-chat:gpt-5", transport=Reads(reads), api_key="none", middleware=middleware
            )
            seen += await _count_events(agent)
        return seen

    return lambda: asyncio.run(main())


def _play_over_http(url: str, middleware: list[Middleware]) -> Callable[[], int]:
    async def main() -> int:
        agent: Any = Agent("compatible:bench", base_url=url, api_key="none", middleware=middleware)
        seen = sum(await asyncio.gather(*(_count_events(agent) for _ in range(_HTTP_TURNS))))
        await agent.aclose()
        return seen

    return lambda: asyncio.run(main())


async def _count_events(agent: Any) -> int:
    seen = 0
    async with agent.run("How much water reaches the wheel?") as run:
        async for _ in run:
            seen += 1
    return seen
