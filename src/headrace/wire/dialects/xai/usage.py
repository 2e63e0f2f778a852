"""Usage of xAI streams: running reports, in which reasoning is not part of the answer tokens."""

from __future__ import annotations

from typing import Any

from headrace.usage import UNKNOWN_USAGE, Usage
from headrace.wire.dialects.xai.chunk import WireUsage
from headrace.wire.json.number import parse_count

# What xAI's own client says of `cost_in_usd_ticks`.
_USD_PER_TICK = 1e-10


class XAIUsage:
    """Merges the running reports of a stream. A zero and a count that is not there are the
    same bytes, and neither undoes what an earlier report told."""

    def __init__(self) -> None:
        self._merged = WireUsage()

    def feed(self, report: WireUsage) -> None:
        """Take a report, which may come with every chunk."""
        merged = self._merged
        if report.completion_tokens:
            merged.completion_tokens = report.completion_tokens
        if report.reasoning_tokens:
            merged.reasoning_tokens = report.reasoning_tokens
        if report.prompt_tokens:
            merged.prompt_tokens = report.prompt_tokens
        if report.total_tokens:
            merged.total_tokens = report.total_tokens
        if report.cached_prompt_text_tokens:
            merged.cached_prompt_text_tokens = report.cached_prompt_text_tokens
        if (
            report.cost_in_usd_ticks
            or report.prompt_image_tokens
            or report.num_sources_used
            or report.server_side_tools_used
        ):
            self._feed_rare(report)

    def _feed_rare(self, report: WireUsage) -> None:
        for name in report.__struct_fields__[5:]:
            setattr(self._merged, name, getattr(report, name) or getattr(self._merged, name))

    def total(self) -> Usage:
        """Return the running total. If anything was reported, missing counts are zero, because a
        zero takes no bytes."""
        told = self._merged
        prompt, answer = (
            parse_count(told.prompt_tokens) or 0,
            parse_count(told.completion_tokens) or 0,
        )
        thoughts, total = parse_count(told.reasoning_tokens) or 0, parse_count(told.total_tokens)
        ticks = parse_count(told.cost_in_usd_ticks)
        cost = None if ticks is None else ticks * _USD_PER_TICK
        if not (prompt or answer or thoughts or total):
            return UNKNOWN_USAGE if cost is None else Usage(cost=cost)
        is_inside = total is not None and prompt + answer == total
        return Usage(
            input_tokens=prompt,
            output_tokens=answer if is_inside else answer + thoughts,
            total_tokens=total,
            reasoning_tokens=thoughts,
            cached_input_tokens=parse_count(told.cached_prompt_text_tokens) or 0,
            cost=cost,
        )

    def extras(self) -> dict[str, Any]:
        """Return what is reported besides the counts."""
        told = self._merged
        kept = {
            "prompt_image_tokens": parse_count(told.prompt_image_tokens),
            "num_sources_used": parse_count(told.num_sources_used),
            "server_side_tools_used": told.server_side_tools_used,
        }
        return {name: value for name, value in kept.items() if value}
