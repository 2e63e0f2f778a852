"""What a stream does next, and what it must know of the request."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Pause(msgspec.Struct, frozen=True):
    """Nothing comes for so long."""

    seconds: float


class Break(msgspec.Struct, frozen=True):
    """The connection breaks."""


class Silence(msgspec.Struct, frozen=True):
    """Nothing comes any more."""


Step: TypeAlias = bytes | Pause | Break | Silence
"""Bytes are one event."""


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """On which a turn is played."""

    name: str = "1"
    """What its ids are made of: two turns of one conversation must differ in it."""
    model: str = "scripted"
    input_tokens: int = 0
