"""The arguments of a tool call in one short line."""

from __future__ import annotations

from itertools import islice
from typing import Any, cast

import msgspec

MAX_CHARS = 80
"""Longest preview, with the ellipsis of one that was cut."""
_MAX_FIELDS = 8
# Enough for a preview: the rest of a long value is never looked at.
_MAX_VALUE_CHARS = 2 * MAX_CHARS


def preview_args(args: Any) -> str:
    """Return the arguments in one line of at most `MAX_CHARS` characters: `city: Oslo, days: 3`."""
    if not isinstance(args, dict):
        return _cut(_preview_value(args))
    fields = islice(cast("dict[str, Any]", args).items(), _MAX_FIELDS)
    return _cut(", ".join(f"{name}: {_preview_value(value)}" for name, value in fields))


def _preview_value(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text[:_MAX_VALUE_CHARS]


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…"
