"""The steps of a play turn, and what depends on the request."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Pause(msgspec.Struct, frozen=True):
    """Nothing arrives for a while."""

    seconds: float


class Break(msgspec.Struct, frozen=True):
    """The connection breaks."""


class Silence(msgspec.Struct, frozen=True):
    """Nothing arrives any more."""


Step: TypeAlias = bytes | Pause | Break | Silence
"""One step; bytes are one event."""


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """The request for which a turn is play."""

    name: str = "1"
    """Basis of all ids; it differs between two turns of one conversation."""
    model: str = "scripted"
    input_tokens: int = 0
