"""What all events share."""

from __future__ import annotations

import re

import msgspec


def _to_snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class BaseEvent(msgspec.Struct, frozen=True, tag=_to_snake_case):
    """A frozen value; its tag is the snake_case of its name."""
