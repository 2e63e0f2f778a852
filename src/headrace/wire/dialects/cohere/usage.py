"""Usage of Cohere streams: tokens of the model, or the billed ones where only they are told."""

from __future__ import annotations

from typing import Any

from headrace.usage import Usage
from headrace.wire.json.number import parse_count
from headrace.wire.json.value import as_object


def parse_usage(report: dict[str, Any]) -> Usage:
    """Return the usage of a `message-end`, or of the `meta` of version 1."""
    counts = as_object(report.get("tokens")) or as_object(report.get("billed_units"))
    return Usage(
        input_tokens=parse_count(counts.get("input_tokens")),
        output_tokens=parse_count(counts.get("output_tokens")),
        cached_input_tokens=parse_count(report.get("cached_tokens")),
    )
