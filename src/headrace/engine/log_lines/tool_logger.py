"""`ToolLogger`: log lines about one call of a tool."""

from __future__ import annotations

import logging
import time

from headrace.log import get_logger

_logger = get_logger("engine")


class ToolLogger:
    """Logs one call of a tool, from its start to its end."""

    def __init__(self, run_id: str, tool: str, call_id: str) -> None:
        self._fields = {"run_id": run_id, "tool": tool, "call_id": call_id}
        self._tool = tool
        self._started_s = time.monotonic()
        fields = {"event": "tool_started", **self._fields}
        _logger.debug("tool %s started", tool, extra=fields)

    def log_end(self, is_error: bool | None) -> None:
        """Log the end: a tool that failed as a warning. None is a call that was stopped."""
        ms = round(1_000 * (time.monotonic() - self._started_s))
        word = {None: "stopped", False: "finished", True: "failed"}[is_error]
        level = logging.WARNING if is_error else logging.DEBUG
        fields = {"event": f"tool_{word}", "ms": ms, **self._fields}
        _logger.log(level, "tool %s %s after %d ms", self._tool, word, ms, extra=fields)
