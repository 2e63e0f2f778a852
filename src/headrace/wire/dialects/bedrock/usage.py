"""Usage of Bedrock streams: cache counts are separate there, and included in the input here."""

from __future__ import annotations

from typing import Any

from headrace.usage import Usage
from headrace.wire.json.number import parse_count, parse_first_count
from headrace.wire.json.value import as_objects


def parse_usage(report: dict[str, Any]) -> Usage:
    """Return the usage of a `metadata` event. Nova models behind InvokeModel spell the cache counts
    with `Count` at the end."""
    fresh = parse_count(report.get("inputTokens"))
    output = parse_count(report.get("outputTokens"))
    total = parse_count(report.get("totalTokens"))
    read = _parse_cached(report, "cacheReadInputToken")
    written = _parse_cached(report, "cacheWriteInputToken")
    cached = (read or 0) + (written or 0)
    # The total tells whether the cache is part of the input.
    is_included = total is not None and total == (fresh or 0) + (output or 0)
    by_ttl = {
        entry.get("ttl"): parse_count(entry.get("inputTokens"))
        for entry in as_objects(report.get("cacheDetails"))
        if isinstance(entry.get("ttl"), str)
    }
    return Usage(
        input_tokens=fresh if fresh is None or is_included else fresh + cached,
        output_tokens=output,
        total_tokens=total,
        cached_input_tokens=read,
        cache_creation_input_tokens=written,
        cache_creation_5m_tokens=by_ttl.get("5m"),
        cache_creation_1h_tokens=by_ttl.get("1h"),
    )


def _parse_cached(report: dict[str, Any], name: str) -> int | None:
    return parse_first_count(report.get(f"{name}s"), report.get(f"{name}Count"))
