"""Reading JSON that may be anything: a value of the kind that was expected, or nothing."""

from __future__ import annotations

from typing import Any, cast


def as_object(value: object) -> dict[str, Any]:
    """The object; an empty one where the value is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The list; an empty one where the value is none."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def as_objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list, without whatever else is in it."""
    return [entry for entry in as_list(value) if isinstance(entry, dict)]


def as_text(value: object) -> str | None:
    """The text; None where the value is none, or an empty one."""
    return value if isinstance(value, str) and value else None


def as_int(value: object) -> int | None:
    """The integer; a boolean is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
