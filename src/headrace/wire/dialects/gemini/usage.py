"""Gemini's usage: thoughts stand beside the answer's tokens, ours stand inside them."""

from __future__ import annotations

from typing import Any

from headrace.content import Usage
from headrace.wire.json_value import as_text
from headrace.wire.usage import count


class GeminiUsage:
    """Merges the running reports of a stream; a field may come once and never again."""

    def __init__(self) -> None:
        self._merged: dict[str, Any] = {}

    def feed(self, report: dict[str, Any]) -> Usage:
        """Take a report; return the running total."""
        self._merged.update((name, value) for name, value in report.items() if value)
        thoughts = count(self._merged.get("thoughtsTokenCount"))
        answer = count(self._merged.get("candidatesTokenCount"))
        is_known = thoughts is not None or answer is not None
        return Usage(
            input_tokens=count(self._merged.get("promptTokenCount")),
            output_tokens=(thoughts or 0) + (answer or 0) if is_known else None,
            total_tokens=count(self._merged.get("totalTokenCount")),
            reasoning_tokens=thoughts,
            cached_input_tokens=count(self._merged.get("cachedContentTokenCount")),
        )

    @property
    def service_tier(self) -> str | None:
        return as_text(self._merged.get("serviceTier"))

    def extras(self) -> dict[str, Any]:
        """What is told beside the counters that we name."""
        names = ("toolUsePromptTokenCount", "trafficType")
        return {name: self._merged[name] for name in names if name in self._merged}
