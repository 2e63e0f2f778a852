"""The protocols: how the records of a run are shown to those who watch it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from headrace.messages import Message
from headrace.projections import thinking, ux
from headrace.projections.thinking import ThinkingProjection
from headrace.projections.ux import UXProjection
from headrace.server.sse import Encoding
from headrace.server.storage.store import RunRow

Told: TypeAlias = Callable[[], Message]
"""The message of a run that goes on, as far as it is told."""
Protocols: TypeAlias = dict[str, Callable[[RunRow, Told | None], Encoding]]
"""By name. Whoever has the message at hand says so: it need not be folded twice."""


def _ux(row: RunRow, told: Told | None = None) -> Encoding:
    return Encoding(UXProjection(row.message_id, message=told), ux.encode_frame)


def _thinking(row: RunRow, told: Told | None = None) -> Encoding:
    return Encoding(ThinkingProjection(), thinking.encode_frame)


PROTOCOLS: Protocols = {"ux": _ux, "thinking": _thinking}
"""The first is what a client gets that asks for none."""
