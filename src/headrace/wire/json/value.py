"""Reads JSON values of unknown type: returns a value of the expected type, or an empty one."""

from __future__ import annotations

from typing import Any, cast


def as_object(value: object) -> dict[str, Any]:
    """Return the object, or an empty one for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return the list, or an empty one for any other value."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def as_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list, without its other entries."""
    return [entry for entry in as_list(value) if isinstance(entry, dict)]


def as_text(value: object) -> str | None:
    """Return the text, or None for an empty text and any other value."""
    return value if isinstance(value, str) and value else None


def as_int(value: object) -> int | None:
    """Return the integer, or None for any other value. A boolean is not an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
