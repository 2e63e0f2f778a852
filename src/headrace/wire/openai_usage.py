"""Parses the usage of chat and Responses streams, in all its spellings."""

from __future__ import annotations

from typing import Any

from headrace.usage import Usage
from headrace.wire.json.number import parse_amount, parse_count, parse_first_count
from headrace.wire.json.value import as_object


def parse_openai_usage(report: dict[str, Any]) -> Usage:
    """Parse one report, running or final."""
    prompt = as_object(report.get("prompt_tokens_details") or report.get("input_tokens_details"))
    answer = as_object(
        report.get("completion_tokens_details") or report.get("output_tokens_details")
    )
    creation = as_object(report.get("cache_creation"))
    input_tokens = parse_first_count(report.get("prompt_tokens"), report.get("input_tokens"))
    output_tokens = parse_first_count(report.get("completion_tokens"), report.get("output_tokens"))
    total = parse_count(report.get("total_tokens"))
    reasoning = parse_first_count(answer.get("reasoning_tokens"), report.get("reasoning_tokens"))
    cost = report.get("cost")
    return Usage(
        input_tokens=input_tokens,
        output_tokens=_add_reasoning(input_tokens, output_tokens, reasoning, total),
        total_tokens=total,
        reasoning_tokens=reasoning,
        cached_input_tokens=parse_first_count(
            prompt.get("cached_tokens"),
            report.get("prompt_cache_hit_tokens"),
            report.get("cache_read_input_tokens"),
            report.get("cached_tokens"),
            report.get("num_cached_tokens"),
        ),
        cache_creation_input_tokens=parse_first_count(
            report.get("cache_creation_input_tokens"),
            prompt.get("cache_write_tokens"),
            prompt.get("cache_creation_tokens"),
        ),
        cache_creation_5m_tokens=parse_count(creation.get("ephemeral_5m_input_tokens")),
        cache_creation_1h_tokens=parse_count(creation.get("ephemeral_1h_input_tokens")),
        cost=parse_amount(as_object(cost).get("total_cost", cost)),
        units=_parse_units(prompt, answer),
    )


def _parse_units(prompt: dict[str, Any], answer: dict[str, Any]) -> dict[str, int] | None:
    """Return the tokens of sound, which have their own price."""
    heard, spoken = parse_count(prompt.get("audio_tokens")), parse_count(answer.get("audio_tokens"))
    if not heard and not spoken:
        return None
    return {"input_audio_tokens": heard or 0, "output_audio_tokens": spoken or 0}


def _add_reasoning(
    input_tokens: int | None, output_tokens: int | None, reasoning: int | None, total: int | None
) -> int | None:
    """Add reasoning to the output tokens, if the total shows that the provider left it out."""
    if not reasoning or input_tokens is None or output_tokens is None or total is None:
        return output_tokens
    is_outside = input_tokens + output_tokens + reasoning == total
    return output_tokens + reasoning if is_outside else output_tokens
