"""Spans in the JSON encoding of OTLP, the protocol of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.events import TraceIds
from headrace.telemetry.span import Attributes, AttributeValue, Span

_KIND_INTERNAL = 1
_KIND_CLIENT = 3
_STATUS_ERROR = 2
SCOPE = "headrace"
"""Name of the instrumentation scope."""


def to_otlp(
    spans: Iterable[Span], *, version: str, service_name: str = "headrace"
) -> dict[str, Any]:
    """Return spans as the body of an OTLP/JSON request, which `/v1/traces` of a collector takes."""
    resource = {"attributes": _attributes({"service.name": service_name})}
    scope = {"name": SCOPE, "version": version}
    scopes = [{"scope": scope, "spans": [_to_json(span) for span in spans]}]
    return {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}


def _to_json(span: Span) -> dict[str, Any]:
    ids = span.ids
    found: dict[str, Any] = {
        "traceId": ids.trace_id,
        "spanId": ids.span_id,
        "name": span.name,
        "kind": _KIND_CLIENT if span.is_client else _KIND_INTERNAL,
        "startTimeUnixNano": _nanoseconds(span.start_ms),
        "endTimeUnixNano": _nanoseconds(span.start_ms if span.end_ms is None else span.end_ms),
        "attributes": _attributes(span.attributes),
    }
    if ids.parent_id is not None:
        found["parentSpanId"] = ids.parent_id
    if span.events:
        found["events"] = [
            {
                "timeUnixNano": _nanoseconds(event.at_ms),
                "name": event.name,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ]
    if span.link is not None:
        found["links"] = [_link(span.link)]
    if span.error is not None:
        found["status"] = {"code": _STATUS_ERROR, "message": span.error_message or ""}
    return found


def _link(ids: TraceIds) -> dict[str, Any]:
    return {"traceId": ids.trace_id, "spanId": ids.span_id}


def _nanoseconds(at_ms: int) -> str:
    # Numbers of 64 bits are texts in the JSON of protocol buffers.
    return str(at_ms * 1_000_000)


def _attributes(attributes: Attributes) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in attributes.items()]


def _value(value: AttributeValue) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case tuple():
            return {"arrayValue": {"values": [{"stringValue": one} for one in value]}}
