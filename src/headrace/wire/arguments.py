"""The arguments of a tool call: when they are whole, and what they say."""

from __future__ import annotations

from typing import Any

from headrace.errors import LimitExceeded
from headrace.wire.payload import NotJSON, parse

_COULD_CLOSE = ("}", "]", '"')


class MalformedArguments(ValueError):
    """The text is no JSON, or deeper than we read. The message is for the model."""


def parse_arguments(raw: str, max_depth: int) -> Any:
    """The value. Nothing, blanks and `null` are `{}`."""
    try:
        value = parse(raw.encode("utf-8", "replace"), max_depth) if raw.strip() else None
    except LimitExceeded as error:
        raise MalformedArguments(f"nested deeper than {error.limit}={error.allowed}") from None
    except NotJSON as error:
        raise MalformedArguments(str(error)) from None
    return {} if value is None else value


def could_be_whole(last_fragment: str) -> bool:
    """Whether it is worth a try: JSON of a call ends with one of three characters."""
    return last_fragment.rstrip().endswith(_COULD_CLOSE)
