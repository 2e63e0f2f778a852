"""Configures the SDK of OpenTelemetry with an OTLP exporter, for `headrace serve --otel`."""

from __future__ import annotations

import os
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from headrace.errors import UsageError
from headrace.otel.recorded_ids import RecordedIds
from headrace.otel.telemetry import Telemetry

_SERVICE = "OTEL_SERVICE_NAME"


def create_telemetry(*, version: str, has_content: bool = False) -> Telemetry:
    """Return telemetry that is exported with OTLP over HTTP.

    The variables of OpenTelemetry decide where to: OTEL_EXPORTER_OTLP_ENDPOINT, by default
    `http://localhost:4318`, OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME, by default
    `headrace`. With OTEL_TRACES_EXPORTER or OTEL_METRICS_EXPORTER set to `none`, traces or metrics
    are not exported.
    """
    name = os.environ.get(_SERVICE) or "headrace"
    resource = Resource.create({"service.name": name, "service.version": version})
    traces, metrics = _create_tracers(resource), _create_meters(resource)

    def flush(within_s: float) -> None:
        milliseconds = int(within_s * 1000 / 2)
        traces.force_flush(milliseconds)
        metrics.force_flush(milliseconds)

    return Telemetry(
        has_content=has_content, tracer_provider=traces, meter_provider=metrics, flush=flush
    )


def _create_tracers(resource: Resource) -> TracerProvider:
    ids: Any = RecordedIds()
    provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    if _is_exported("OTEL_TRACES_EXPORTER"):
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _create_meters(resource: Resource) -> MeterProvider:
    readers: list[MetricReader] = []
    if _is_exported("OTEL_METRICS_EXPORTER"):
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    return MeterProvider(readers, resource=resource, shutdown_on_exit=False)


def _is_exported(variable: str) -> bool:
    """Return whether a signal is exported. Raises `UsageError` for an exporter that is not OTLP."""
    value = os.environ.get(variable, "otlp").strip().lower()
    if value not in ("otlp", "none"):
        raise UsageError(f"{variable} can be otlp or none here, not {value!r}")
    return value == "otlp"
