"""Usage of Gemini streams: reasoning is not part of the answer tokens there."""

from __future__ import annotations

from typing import Any

from headrace.usage import Usage
from headrace.wire.dialects.gemini.response import WireUsage
from headrace.wire.json.number import parse_count
from headrace.wire.json.value import as_text


class GeminiUsage:
    """Merges the running reports of a stream; a field may come once and never again."""

    def __init__(self) -> None:
        self._merged = WireUsage()

    def feed(self, report: WireUsage) -> None:
        """Take a report, which comes with every chunk."""
        merged = self._merged
        if report.candidates_token_count:
            merged.candidates_token_count = report.candidates_token_count
        if report.total_token_count:
            merged.total_token_count = report.total_token_count
        if report.thoughts_token_count:
            merged.thoughts_token_count = report.thoughts_token_count
        if report.prompt_token_count:
            merged.prompt_token_count = report.prompt_token_count
        if (
            report.cached_content_token_count
            or report.tool_use_prompt_token_count
            or report.service_tier
            or report.traffic_type
        ):
            self._feed_rare(report)

    def _feed_rare(self, report: WireUsage) -> None:
        for name in report.__struct_fields__[4:]:
            setattr(self._merged, name, getattr(report, name) or getattr(self._merged, name))

    def total(self) -> Usage:
        """Return the running total."""
        told = self._merged
        thoughts, answer = (
            parse_count(told.thoughts_token_count),
            parse_count(told.candidates_token_count),
        )
        is_known = thoughts is not None or answer is not None
        return Usage(
            input_tokens=parse_count(told.prompt_token_count),
            output_tokens=(thoughts or 0) + (answer or 0) if is_known else None,
            total_tokens=parse_count(told.total_token_count),
            reasoning_tokens=thoughts,
            cached_input_tokens=parse_count(told.cached_content_token_count),
        )

    @property
    def service_tier(self) -> str | None:
        return as_text(self._merged.service_tier)

    def extras(self) -> dict[str, Any]:
        """Return what is reported besides the counts."""
        told = {
            "toolUsePromptTokenCount": parse_count(self._merged.tool_use_prompt_token_count),
            "trafficType": as_text(self._merged.traffic_type),
        }
        return {name: value for name, value in told.items() if value is not None}
