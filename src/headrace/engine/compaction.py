"""Making history shorter before a request: the seam, and the plainest of the strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.messages import Message


class Compactor(Protocol):
    """A strategy with a name."""

    name: str

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        """A shorter history, or None where this one may stay. `is_forced`: the provider has
        refused it as too long."""
        ...
