"""Usage of Gemini streams: reasoning is not part of the answer tokens there."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.usage import Usage
from headrace.wire.dialects.gemini.response import NO_DETAILS, WireUsage
from headrace.wire.json.number import parse_count
from headrace.wire.json.payload import REFUSED
from headrace.wire.json.value import as_objects, as_text

# The modalities that may have their own price. Text has the price of the whole.
_MODALITIES = {"AUDIO": "audio", "IMAGE": "image", "DOCUMENT": "image", "VIDEO": "video"}


class GeminiUsage:
    """Merges the running reports of a stream; a field may come once and never again."""

    def __init__(self) -> None:
        self._merged = WireUsage()

    def feed(self, report: WireUsage) -> None:
        """Take a report, which comes with every chunk."""
        merged = self._merged
        if count := report.candidates_token_count:
            merged.candidates_token_count = count
        if count := report.total_token_count:
            merged.total_token_count = count
        if count := report.thoughts_token_count:
            merged.thoughts_token_count = count
        if count := report.prompt_token_count:
            merged.prompt_token_count = count
        if (details := report.prompt_tokens_details) is not NO_DETAILS:
            merged.prompt_tokens_details = details
        if (details := report.candidates_tokens_details) is not NO_DETAILS:
            merged.candidates_tokens_details = details
        if (
            report.cached_content_token_count
            or report.tool_use_prompt_token_count
            or report.service_tier
            or report.traffic_type
        ):
            self._feed_rare(report)

    def _feed_rare(self, report: WireUsage) -> None:
        for name in report.__struct_fields__:
            value = getattr(report, name)
            if value and value is not NO_DETAILS:
                setattr(self._merged, name, value)

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
            units=_parse_units(told),
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


def _parse_units(told: WireUsage) -> dict[str, int] | None:
    """Return the tokens of sound, images and videos, and those of results of provider-run tools,
    which are not part of the input tokens."""
    units: dict[str, int] = {}
    _count_modalities(units, told.prompt_tokens_details, "input_{}_tokens")
    _count_modalities(units, told.tool_use_prompt_tokens_details, "input_{}_tokens")
    _count_modalities(units, told.cache_tokens_details, "cache_{}_read_tokens")
    _count_modalities(units, told.candidates_tokens_details, "output_{}_tokens")
    if tools := parse_count(told.tool_use_prompt_token_count):
        units["input_tool_tokens"] = tools
    return units or None


def _count_modalities(units: dict[str, int], details: msgspec.Raw, name: str) -> None:
    if details is NO_DETAILS:
        return
    try:
        entries = as_objects(msgspec.json.decode(details))
    except REFUSED:
        return
    for entry in entries:
        modality = _MODALITIES.get(as_text(entry.get("modality")) or "")
        count = parse_count(entry.get("tokenCount"))
        if modality is not None and count:
            key = name.format(modality)
            units[key] = units.get(key, 0) + count
