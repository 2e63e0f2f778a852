"""Converts a usage to the counts that prices are per."""

from __future__ import annotations

from headrace.usage import Usage

_MODALITIES = ("audio", "image", "video")


def to_price_units(usage: Usage) -> dict[str, int] | None:
    """Return the counts of a usage under the names of `genai-prices`, or None if no tokens are
    known.

    A part is never more than its whole, even if a server says so. Cache writes whose lifetime is
    not known have the price of the shorter one.
    """
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    units = dict(usage.units or {})
    total_in = (usage.input_tokens or 0) + units.get("input_tool_tokens", 0)
    total_out = usage.output_tokens or 0
    cached = min(usage.cached_input_tokens or 0, total_in)
    hour = usage.cache_creation_1h_tokens or 0
    written = max(
        usage.cache_creation_input_tokens or 0, (usage.cache_creation_5m_tokens or 0) + hour
    )
    written = min(written, total_in - cached)
    units |= {
        "input_tokens": total_in,
        "output_tokens": total_out,
        "cache_read_tokens": cached,
        "cache_write_tokens": written,
        "cache_write_1h_tokens": min(hour, written),
        "output_reasoning_tokens": min(usage.reasoning_tokens or 0, total_out),
    }
    for name in _MODALITIES:
        # Without these counts it would not be known which of the cached tokens were sound.
        if f"input_{name}_tokens" in units:
            units.setdefault(f"cache_{name}_read_tokens", 0)
    return units
