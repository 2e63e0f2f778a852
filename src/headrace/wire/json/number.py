"""Reads counts of providers, which write them as integers, floats and strings."""

from __future__ import annotations

from typing import Any

# Past this it is no count of tokens.
_MAX_COUNT = 2**53


def parse_count(value: Any) -> int | None:
    """Return a count, or None if the value is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= _MAX_COUNT:
        return None
    return int(value)


def parse_amount(value: Any) -> float | None:
    """Return an amount of money, or None if the value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _MAX_COUNT else None


def parse_first_count(*values: Any) -> int | None:
    """Return the first count that is not 0; else 0 if one of the values was 0; else None."""
    counts = [number for number in map(parse_count, values) if number is not None]
    return next((number for number in counts if number), counts[0] if counts else None)
