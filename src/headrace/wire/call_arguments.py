"""Parses the arguments of tool calls."""

from __future__ import annotations

from typing import Any

from headrace.errors import LimitExceeded
from headrace.wire.json.payload import NotJSON, parse, replace_surrogates


class MalformedArguments(ValueError):
    """The text is not valid JSON, or nested too deeply. The message is worded for the model."""


def parse_arguments(raw: str, max_depth: int) -> Any:
    """Return the value of the arguments. Empty text and `null` become `{}`."""
    try:
        value = parse(_encode(raw), max_depth) if raw.strip() else None
    except LimitExceeded as error:
        raise MalformedArguments(f"nested deeper than {error.limit}={error.allowed}") from None
    except NotJSON as error:
        raise MalformedArguments(str(error)) from None
    return {} if value is None else value


def _encode(raw: str) -> bytes:
    try:
        return raw.encode()
    except UnicodeEncodeError:
        return replace_surrogates(raw).encode()
