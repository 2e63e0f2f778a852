"""Spans and measurements of a run, computed from its records.

The names are those of OpenTelemetry's conventions for generative AI. Nothing here needs a package
of OpenTelemetry: `headrace.otel` passes the spans on to one.
"""
