"""Reads fields of JSON objects, and names the field that is wrong."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.events import JSONObject
from headrace.readers.incoming import InvalidRequest


def read_text(fields: JSONObject, name: str, where: str = "") -> str:
    """Return a text that must be there and must not be empty."""
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{where}{name} must be a text", f"{where}{name}")
    return value


def read_optional_text(fields: JSONObject, name: str, where: str = "") -> str | None:
    """Return a text, or None if there is none."""
    return None if fields.get(name) is None else read_text(fields, name, where)


def read_objects(fields: JSONObject, name: str, where: str = "") -> list[JSONObject]:
    """Return a list of objects. A missing list is empty."""
    value = fields.get(name)
    if value is None:
        return []
    try:
        return msgspec.convert(value, list[dict[str, Any]])
    except msgspec.ValidationError:
        text = f"{where}{name} must be a list of objects"
        raise InvalidRequest(text, f"{where}{name}") from None
