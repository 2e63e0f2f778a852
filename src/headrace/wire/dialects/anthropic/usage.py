"""Usage of Anthropic streams: cache counts are separate there, and included in the input here."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.usage import Usage
from headrace.wire.json.number import parse_amount, parse_count
from headrace.wire.json.value import as_object, as_objects, as_text

_EXTRAS = ("server_tool_use", "iterations", "inference_geo", "speed")
_KEPT = frozenset(
    [
        "input_tokens",
        "output_tokens",
        "output_tokens_details",
        "cache_creation",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cost",
        "service_tier",
        *_EXTRAS,
    ]
)


class AnthropicUsage:
    """Merges the reports of a stream: each is cumulative, and may leave things out."""

    def __init__(self) -> None:
        self._merged: dict[str, Any] = {}

    def feed(self, report: dict[str, Any]) -> Usage:
        """Take a report and return the running total.

        A zero does not replace an earlier count, since gateways fill reports up with zeros. But in
        a report that counts the input, the zeros next to that count are meant.
        """
        is_whole = bool(parse_count(report.get("input_tokens")))
        if is_whole and "cache_creation_input_tokens" in report:
            self._merged.pop("cache_creation", None)
        self._merged.update(
            (name, value)
            for name, value in report.items()
            if name in _KEPT
            and (value not in (None, 0) or name not in self._merged or (is_whole and value == 0))
        )
        return _to_usage(self._merged)

    def extras(self) -> dict[str, Any]:
        """Return what is reported besides the counts.

        The counts leave out some iterations, such as those that compact the context, but all of
        them are billed: `billed_usage` is their sum.
        """
        extras = {name: value for name, value in self._merged.items() if name in _EXTRAS and value}
        iterations = as_objects(self._merged.get("iterations"))
        if len(iterations) > 1:
            billed = sum((_to_usage(iteration) for iteration in iterations), Usage())
            extras["billed_usage"] = msgspec.to_builtins(billed)
        return extras

    @property
    def service_tier(self) -> str | None:
        """The service tier, which is reported inside the usage."""
        return as_text(self._merged.get("service_tier"))


def _to_usage(report: dict[str, Any]) -> Usage:
    creation = as_object(report.get("cache_creation"))
    five, hour = (
        parse_count(creation.get("ephemeral_5m_input_tokens")),
        parse_count(creation.get("ephemeral_1h_input_tokens")),
    )
    created = parse_count(report.get("cache_creation_input_tokens"))
    if created is None and (five is not None or hour is not None):
        created = (five or 0) + (hour or 0)
    cached = parse_count(report.get("cache_read_input_tokens"))
    fresh = parse_count(report.get("input_tokens"))
    searches = parse_count(as_object(report.get("server_tool_use")).get("web_search_requests"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (cached or 0) + (created or 0),
        output_tokens=parse_count(report.get("output_tokens")),
        reasoning_tokens=parse_count(
            as_object(report.get("output_tokens_details")).get("thinking_tokens")
        ),
        cached_input_tokens=cached,
        cache_creation_input_tokens=created,
        cache_creation_5m_tokens=five,
        cache_creation_1h_tokens=hour,
        cost=parse_amount(report.get("cost")),
        units={"web_searches": searches} if searches else None,
    )
