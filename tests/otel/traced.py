"""Traces and metrics in memory, and what must hold of the spans of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id

from headrace.events import Record
from headrace.otel import OpenTelemetry, RecordedIds, Telemetry
from headrace.telemetry.span import Span
from headrace.telemetry.span_builder import build_spans
from tests.engine.resume.scenes import Player, Scene, Stages


class Traces:
    """An SDK that keeps everything in memory. `telemetry` is middleware that records to it."""

    def __init__(self, *, has_recorded_ids: bool = True, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        ids: Any = RecordedIds() if has_recorded_ids else None
        self.provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self._options = options
        self.telemetry = OpenTelemetry(
            tracer_provider=self.provider, meter_provider=self.meters, **options
        )

    def create_telemetry(self) -> Telemetry:
        """Return what a server records to."""
        return Telemetry(tracer_provider=self.provider, meter_provider=self.meters, **self._options)

    def dump(self) -> str:
        """Everything that was recorded, as text."""
        data = self.reader.get_metrics_data()
        spans = "\n".join(span.to_json() for span in self.spans)
        return spans if data is None else f"{spans}\n{data.to_json()}"

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that were exported."""
        return list(self.exporter.get_finished_spans())

    def metrics(self) -> dict[str, list[Any]]:
        """The data points of every metric."""
        data = self.reader.get_metrics_data()
        found: dict[str, list[Any]] = {}
        for resource in [] if data is None else data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found.setdefault(metric.name, []).extend(metric.data.data_points)
        return found


class TracedPlayer(Player):
    """Plays a scene with `OpenTelemetry` on the outermost agent, or on all agents."""

    def __init__(
        self, scene: Scene, dialect: str, traces: Traces, *, on_all: bool = False, **options: Any
    ) -> None:
        super().__init__(scene, dialect, **options)
        self._traces = traces
        self._on_all = on_all

    def _agent(self, stages: Stages, tools: Sequence[Any], **options: Any) -> Any:
        if self._on_all or stages is self.scene.stages:
            options["middleware"] = [self._traces.telemetry]
        return super()._agent(stages, tools, **options)


def own_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return format_span_id(span.context.span_id)


def trace_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return format_trace_id(span.context.trace_id)


def parent_id(span: ReadableSpan) -> str | None:
    return None if span.parent is None else format_span_id(span.parent.span_id)


def flatten(span: ReadableSpan) -> dict[str, Any]:
    """What is the same in a span that was recorded live and in one that was made from records."""
    return {
        "name": span.name,
        "ids": (trace_id(span), own_id(span), parent_id(span)),
        "times": (span.start_time, span.end_time),
        "links": [format_span_id(link.context.span_id) for link in span.links],
        "events": [(one.name, one.timestamp, dict(one.attributes or {})) for one in span.events],
        "is_error": span.status.status_code.name == "ERROR",
        "attributes": {
            name: value
            for name, value in (span.attributes or {}).items()
            if name not in LIVE_ATTRIBUTES
        },
    }


def flatten_built(span: Span) -> dict[str, Any]:
    """The same of a span that was made from records."""
    ids = span.ids
    assert span.end_ms is not None
    return {
        "name": span.name,
        "ids": (ids.trace_id, ids.span_id, ids.parent_id),
        "times": (span.start_ms * 1_000_000, span.end_ms * 1_000_000),
        "links": [] if span.link is None else [span.link.span_id],
        "events": [(one.name, one.at_ms * 1_000_000, one.attributes) for one in span.events],
        "is_error": span.error is not None,
        "attributes": {n: v for n, v in span.attributes.items() if n not in LIVE_ATTRIBUTES},
    }


# Known only while the request is sent.
LIVE_ATTRIBUTES = frozenset({"server.address", "server.port", "gen_ai.output.type"})


def check_same(spans: Sequence[ReadableSpan], records: Sequence[Record]) -> None:
    """The spans are those that can be made from the records."""
    live = sorted(map(flatten, spans), key=lambda one: one["ids"])
    built = sorted(map(flatten_built, build_spans(records)), key=lambda one: one["ids"])
    assert live == built


def check_trees(spans: Sequence[ReadableSpan], *, stretches: int) -> list[ReadableSpan]:
    """Each stretch is one tree, linked to the one before. Returns the topmost spans."""
    known = {own_id(span): span for span in spans}
    assert len(known) == len(spans), "an id came twice"
    roots = [span for span in spans if parent_id(span) not in known]
    roots.sort(key=lambda span: span.start_time or 0)
    assert len(roots) == stretches, [span.name for span in roots]
    assert all(span.name.split()[0] == "invoke_agent" for span in roots)
    assert len({trace_id(span) for span in roots}) == stretches
    for span in spans:
        above = known.get(parent_id(span) or "")
        if above is not None:
            check_place(span, above)
    previous: ReadableSpan | None = None
    for root in roots:
        links = [format_span_id(link.context.span_id) for link in root.links]
        assert links == ([] if previous is None else [own_id(previous)])
        previous = root
    return roots


def check_place(span: ReadableSpan, above: ReadableSpan) -> None:
    """A span is of the trace of its parent, within its time, and below the right operation."""
    operations = {
        "chat": "invoke_agent",
        "execute_tool": "invoke_agent",
        "invoke_agent": "execute_tool",
    }
    assert trace_id(span) == trace_id(above)
    assert operations[span.name.split()[0]] == above.name.split()[0]
    assert span.start_time is not None
    assert span.end_time is not None
    assert above.start_time is not None
    assert above.end_time is not None
    assert above.start_time <= span.start_time <= span.end_time <= above.end_time
