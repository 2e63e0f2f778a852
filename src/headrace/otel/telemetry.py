"""`Telemetry`: the tracing and the metrics of a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opentelemetry.context import get_current
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from headrace.engine import Agent
from headrace.events import Record, RunResumed, RunStarted, StepStarted, TraceIds
from headrace.otel.middleware import OpenTelemetry
from headrace.otel.recorder import Recorder
from headrace.telemetry import names
from headrace.telemetry.histogram import Histograms
from headrace.telemetry.span import Span
from headrace.telemetry.span_builder import SpanBuilder, build_spans


class Telemetry:
    """Where the agents and the HTTP requests of a server are recorded: pass it to `create_app()`.

    `flush` is called when the server stops, with the seconds that it may take. The histograms are
    shown at `/metrics` too.
    """

    def __init__(
        self,
        *,
        has_content: bool = False,
        secrets: Iterable[str] = (),
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        flush: Callable[[float], None] | None = None,
    ) -> None:
        self.histograms = Histograms()
        self.recorder = Recorder(tracer_provider, meter_provider, self.histograms)
        self._options: dict[str, Any] = {
            "has_content": has_content,
            "secrets": tuple(secrets),
            "recorder": self.recorder,
        }
        self._flush = flush

    def trace(self, name: str, agent: Agent[Any]) -> Agent[Any]:
        """Return the agent with middleware that records it under this name. An agent that is
        recorded already stays as it is."""
        if any(isinstance(entry, OpenTelemetry) for entry in agent.middleware):
            return agent
        return agent.replace(middleware=[OpenTelemetry(agent_name=name, **self._options)])

    def emit_lost(self, name: str, records: Sequence[Record]) -> None:
        """Record the spans of a run whose process was killed and that nobody continues, if it was
        traced. `records` include the end that it was given."""
        traced = [
            record
            for record in records
            if isinstance(record.event, RunStarted | RunResumed) and not record.path
        ]
        last = traced[-1] if traced else None
        trace = getattr(last.event, "trace", None) if last is not None else None
        if last is None or not isinstance(trace, TraceIds):
            return
        builder = SpanBuilder(agent_name=name)
        lost: list[Span] = []
        for record in records:
            if record is last:
                lost = []
            lost += [change.span for change in builder.feed(record) if not change.is_end]
        builder.close()
        self.recorder.emit_lost(lost)

    def record_turn(
        self, run_id: str, model: str, records: Sequence[Record], started_ms: int
    ) -> None:
        """Record a request to a model that was not part of a run, such as one of a gateway, as a
        child of the current span. `model` is `provider:model`."""
        begun = [
            Record(1, started_ms, RunStarted(run_id, model)),
            Record(2, started_ms, StepStarted(0)),
        ]
        spans = build_spans([*begun, *records])
        chat = next(span for span in reversed(spans) if span.operation == "chat")
        chat.attributes.pop(names.STEP, None)
        self.recorder.start(chat, get_current())
        self.recorder.end(chat)
        self.recorder.measure(chat)

    def flush(self, within_s: float) -> None:
        """Export what has been recorded. Blocks."""
        if self._flush is not None:
            self._flush(within_s)
