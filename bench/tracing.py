"""What OpenTelemetry adds to an agent's turn: with an SDK that exports to nowhere, side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from bench import streams
from bench.engine import Reads
from bench.goal import Goal
from bench.measure import Contestant, race
from headrace.engine import Agent, Middleware
from headrace.otel import OpenTelemetry, RecordedIds

MAX_SHARE = 15.0
"""Most that tracing may add to a turn, in percent."""
_SHORT = 500


class _Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


@dataclass
class TurnCost:
    """CPU time of turns of one length, without and with tracing."""

    events: int
    plain_us: float
    traced_us: float

    @property
    def added_us(self) -> float:
        return self.traced_us - self.plain_us

    @property
    def share(self) -> float:
        """What tracing adds, in percent."""
        return 100 * self.added_us / self.plain_us


def measure_tracing(tell: Callable[[str], None], *, is_quick: bool) -> list[TurnCost]:
    """Measure a long and a short turn."""
    long = streams.EVENTS // 10 if is_quick else streams.EVENTS
    telemetry = _create_telemetry()
    return [
        _compare(events, turns, 5 if is_quick else 15, telemetry, tell)
        for events, turns in ((long, 1), (_SHORT, 10))
    ]


def tracing_section(costs: Sequence[TurnCost]) -> str:
    """The table."""
    rows = [
        f"| {cost.events:,} | {cost.plain_us:,.0f} µs | {cost.traced_us:,.0f} µs"
        f" | {cost.share:.1f} % |"
        for cost in costs
    ]
    head = "| events of the turn | without | with OpenTelemetry | added |\n|---:|---:|---:|---:|"
    return "\n".join(["## Tracing", "", head, *rows])


def tracing_goals(costs: Sequence[TurnCost]) -> list[Goal]:
    """The promises about tracing."""
    return [
        Goal(f"tracing, a turn of {cost.events:,} events", cost.share, MAX_SHARE, unit=" %")
        for cost in costs
    ]


def _create_telemetry() -> OpenTelemetry:
    ids: Any = RecordedIds()
    tracers = TracerProvider(id_generator=ids, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(_Nowhere()))
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    return OpenTelemetry(tracer_provider=tracers, meter_provider=meters)


def _compare(
    events: int, turns: int, rounds: int, telemetry: OpenTelemetry, tell: Callable[[str], None]
) -> TurnCost:
    reads = streams.chat_answer(events).reads
    plain = Contestant("without tracing", _play(reads, turns, []), rounds)
    traced = Contestant("with tracing", _play(reads, turns, [telemetry]), rounds)
    race([plain, traced], tell)
    scale = 1e6 / turns
    return TurnCost(events, plain.cost_s * scale, traced.cost_s * scale)


def _play(reads: list[bytes], turns: int, middleware: list[Middleware]) -> Callable[[], int]:
    async def main() -> int:
        seen = 0
        for _ in range(turns):
            agent: Any = Agent(
                "openai-chat:gpt-5", transport=Reads(reads), api_key="none", middleware=middleware
            )
            async with agent.run("How much water reaches the wheel?") as run:
                async for _ in run:
                    seen += 1
        return seen

    return lambda: asyncio.run(main())
