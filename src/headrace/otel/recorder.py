"""`Recorder`: passes spans and measurements on to OpenTelemetry."""

from __future__ import annotations

from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, MeterProvider, get_meter
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TracerProvider,
    set_span_in_context,
)

from headrace.events import TraceIds
from headrace.otel.recorded_ids import WANTED_IDS, RecordedIds
from headrace.telemetry.histogram import Histograms
from headrace.telemetry.measurement import Measurement, measure
from headrace.telemetry.names import METRICS
from headrace.telemetry.otlp import SCOPE
from headrace.telemetry.span import Attributes, Span

_NO_CONTEXT = Context()
_NANOSECONDS = 1_000_000


class Recorder:
    """A tracer, and the instruments for the metrics. One is shared by many runs."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        histograms: Histograms | None = None,
    ) -> None:
        self.tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self.has_recorded_ids = isinstance(getattr(self.tracer, "id_generator", None), RecordedIds)
        """Whether ids are those of the records."""
        meter = get_meter(SCOPE, meter_provider=meter_provider)
        self._instruments: dict[str, Histogram] = {
            metric.name: meter.create_histogram(
                metric.name,
                metric.unit,
                metric.description,
                explicit_bucket_boundaries_advisory=list(metric.bounds),
            )
            for metric in METRICS
        }
        self._histograms = histograms

    def start_root(self, span: Span, parent: Context | None) -> Any:
        """Start the topmost span of a run. Its ids are chosen here."""
        return self.tracer.start_span(
            span.name,
            context=parent,
            attributes=span.attributes,
            links=_link(span.link),
            start_time=span.start_ms * _NANOSECONDS,
        )

    def start(self, span: Span, parent: Context | None = None) -> None:
        """Start a span below its parent, or in this context."""
        if parent is None:
            above = span.parent
            parent = _NO_CONTEXT if above is None else set_span_in_context(above.handle)
        span.known = dict(span.attributes)
        token = WANTED_IDS.set(span.ids) if self.has_recorded_ids else None
        try:
            span.handle = self.tracer.start_span(
                span.name,
                context=parent,
                kind=SpanKind.CLIENT if span.is_client else SpanKind.INTERNAL,
                attributes=span.attributes,
                links=_link(span.link),
                start_time=span.start_ms * _NANOSECONDS,
            )
        finally:
            if token is not None:
                WANTED_IDS.reset(token)

    def end(self, span: Span) -> None:
        """End a span that was started."""
        handle = span.handle
        if handle is None or span.end_ms is None:
            return
        if handle.is_recording():
            handle.set_attributes(_find_new(span))
            for event in span.events:
                handle.add_event(event.name, event.attributes, event.at_ms * _NANOSECONDS)
            if span.error is not None:
                handle.set_status(Status(StatusCode.ERROR, span.error_message))
        handle.end(span.end_ms * _NANOSECONDS)

    def emit_lost(self, spans: list[Span]) -> None:
        """Record the spans of a process that was killed, each after its parent."""
        for span in spans:
            self.start(span, None if span.parent is not None else self._find_parent(span.ids))
        for span in reversed(spans):
            self.end(span)

    def _find_parent(self, ids: TraceIds) -> Context:
        """Return the context in which the topmost span of a lost run is made again. Without
        `RecordedIds` a span without a parent cannot be given the id of its trace: it becomes a
        child of the lost one."""
        parent_id = ids.parent_id
        if parent_id is None:
            if self.has_recorded_ids:
                return _NO_CONTEXT
            parent_id = ids.span_id
        return set_span_in_context(NonRecordingSpan(_span_context(ids, parent_id)))

    def measure(self, span: Span) -> None:
        """Count a span that has ended."""
        for measurement in measure(span):
            self.record(measurement)

    def record(self, measurement: Measurement) -> None:
        """Count one measurement."""
        instrument = self._instruments[measurement.metric.name]
        instrument.record(measurement.value, measurement.attributes)
        if self._histograms is not None:
            self._histograms.record(measurement)


def _find_new(span: Span) -> Attributes:
    """Return the attributes that the tracer does not have yet, or has with another value."""
    known = span.known or {}
    return {n: v for n, v in span.attributes.items() if n not in known or known[n] != v}


def ids_of(handle: Any, parent: Context | None) -> TraceIds | None:
    """Return the ids of a span that was started, or None if no SDK is there."""
    own: SpanContext = handle.get_span_context()
    if not own.is_valid:
        return None
    above = trace.get_current_span(parent).get_span_context()
    return TraceIds(
        trace.format_trace_id(own.trace_id),
        trace.format_span_id(own.span_id),
        trace.format_span_id(above.span_id) if above.is_valid else None,
        own.trace_flags.sampled,
    )


def _link(ids: TraceIds | None) -> list[Link]:
    return [] if ids is None else [Link(_span_context(ids, ids.span_id))]


def _span_context(ids: TraceIds, span_id: str) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if ids.is_sampled else TraceFlags.DEFAULT)
    return SpanContext(int(ids.trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=flags)
