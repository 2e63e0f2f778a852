"""Notices that a server describes a tool differently than before.

A server may be harmless when it is added and change its descriptions later, to tell the model
something else. Whoever runs the agent is told.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from headrace.log import get_logger
from headrace.mcp.tool_list import ListedTool

_logger = get_logger("mcp")


class ToolChange(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a server describes differently than in an earlier run."""

    server: str
    tool: str
    before: str
    """The description that was known."""
    after: str
    """The description now. It is the same if only a schema has changed."""


class _KnownTool(msgspec.Struct, frozen=True):
    fingerprint: str
    description: str


_Tools = dict[str, dict[str, _KnownTool]]


class ToolMemory:
    """The descriptions of all tools that were seen, in memory or in a file that only the user can
    read."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._tools: _Tools = {}
        if path is not None and path.exists():
            # A damaged file is written anew: the memory is a help, not a source.
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, OSError):
                self._tools = msgspec.json.decode(path.read_bytes(), type=_Tools)

    def exchange(self, server: str, tools: dict[str, _KnownTool]) -> dict[str, _KnownTool]:
        """Store what a server says, and return what it said before."""
        before = self._tools.get(server, {})
        # A tool that is gone is kept: it may come back with another description.
        known = before | tools
        if known != before:
            self._tools[server] = known
            try:
                self._save()
            except OSError as error:
                fields = {"event": "mcp_memory_failed", "error": str(error)}
                _logger.warning("the tools of MCP servers cannot be stored", extra=fields)
        return before

    def _save(self) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(self._tools))
        Path(name).replace(self._path)


def find_changes(server: str, memory: ToolMemory, listed: Iterable[ListedTool]) -> list[ToolChange]:
    """Return the tools that differ from what is remembered, and remember them."""
    tools = {tool.name: _KnownTool(tool.fingerprint, tool.description) for tool in listed}
    before = memory.exchange(server, tools)
    return [
        ToolChange(
            server=server, tool=name, before=before[name].description, after=tool.description
        )
        for name, tool in tools.items()
        if name in before and before[name].fingerprint != tool.fingerprint
    ]
