"""OpenTelemetry: traces and metrics of runs, and of the HTTP requests to a server.

Needs the extra `otel`. Agents need the package `opentelemetry-api` alone; without an SDK that an
application configures, nothing is recorded. `setup.py` is the only module that imports the SDK.
"""

from headrace.otel.middleware import OpenTelemetry
from headrace.otel.recorded_ids import RecordedIds
from headrace.otel.telemetry import Telemetry

__all__ = ["OpenTelemetry", "RecordedIds", "Telemetry"]
