"""Parses the usage of a response."""

from __future__ import annotations

from typing import Any

from headrace.usage import Usage
from headrace.wire.json.number import parse_amount, parse_count, parse_first_count
from headrace.wire.json.value import as_object


def parse_responses_usage(report: dict[str, Any]) -> Usage:
    """Parse the one report, which is in the final snapshot."""
    given = as_object(report.get("input_tokens_details"))
    made = as_object(report.get("output_tokens_details"))
    return Usage(
        input_tokens=parse_count(report.get("input_tokens")),
        output_tokens=parse_count(report.get("output_tokens")),
        total_tokens=parse_count(report.get("total_tokens")),
        reasoning_tokens=parse_count(made.get("reasoning_tokens")),
        cached_input_tokens=parse_count(given.get("cached_tokens")),
        cache_creation_input_tokens=parse_first_count(
            given.get("cache_write_tokens"), given.get("cache_creation_tokens")
        ),
        cost=parse_amount(report.get("cost")),
    )
