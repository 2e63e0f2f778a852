"""The base class of all events."""

from __future__ import annotations

import re

import msgspec


def _to_snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class BaseEvent(msgspec.Struct, frozen=True, tag=_to_snake_case):
    """A frozen event. Its JSON tag is its class name in snake_case."""
