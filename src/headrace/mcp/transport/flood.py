"""Notices servers that send more than a client can be expected to read."""

from __future__ import annotations

import time
from typing import Final

from headrace.mcp.limits import MCPLimits

_WINDOW_S: Final = 10.0


class FloodGuard:
    """Counts messages in windows of ten seconds."""

    def __init__(self, limits: MCPLimits) -> None:
        self._most = limits.max_messages
        self._count = 0
        self._until = time.monotonic() + _WINDOW_S

    def count(self, messages: int = 1) -> str:
        """Count messages. Returns what is wrong if there are too many, or an empty string."""
        now = time.monotonic()
        if now > self._until:
            self._count, self._until = 0, now + _WINDOW_S
        self._count += messages
        if self._count <= self._most:
            return ""
        return f"it sent more than {self._most} messages in {_WINDOW_S:g} seconds"
