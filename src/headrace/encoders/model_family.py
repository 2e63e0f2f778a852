"""Family and generation of a model, parsed from its name."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z]+")
# Bedrock writes the region and the vendor before the name: `us.anthropic.claude-sonnet-4-5`.
_VENDOR = re.compile(r"(?:[a-z-]+\.)+(?=[a-z])")
# A date is no generation, and neither is a size (`-8b`).
_GENERATION = re.compile(r"(?<![\da-z])(\d{1,2})(?:[.-](\d{1,2}))?(?![\d.]*[a-z]|\d)")


def parse_family(model: str | None) -> str:
    """Return the family: `claude` for `anthropic/claude-sonnet-4-5`, `gpt` for `gpt-5`."""
    name = (model or "").lower().rpartition("/")[2]
    vendor = _VENDOR.match(name)
    word = _WORD.search(name, vendor.end() if vendor else 0)
    return word[0] if word else ""


def parse_generation(model: str) -> tuple[int, int] | None:
    """Return the generation: (4, 6) for `claude-sonnet-4-6`, (3, 0) for `gemini-3-pro`, None for a
    name without one, such as `claude-mythos-preview`."""
    found = _GENERATION.search(model.lower().rpartition("/")[2])
    return (int(found[1]), int(found[2] or 0)) if found else None


def is_generation_at_least(model: str, first: tuple[int, int]) -> bool:
    """Return whether a model is of this generation or later. A name without a generation counts as
    the newest."""
    found = parse_generation(model)
    return found is None or found >= first
