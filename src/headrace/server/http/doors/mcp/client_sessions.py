"""What the server remembers of sessions of older revisions: log levels and subscriptions."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.shared.exceptions import MCPError

from headrace.log import get_logger

_MAX_URIS: Final = 100
_SEND_S: Final = 30.0
_DEFAULT_LEVEL: Final = "info"
_logger = get_logger("server")


class _Entry:
    def __init__(self) -> None:
        self.level: str = _DEFAULT_LEVEL
        self.uris: set[str] = set()
        self.waiting: set[str] = set()
        """URIs whose change the client has not been told yet."""
        self.sender: asyncio.Task[None] | None = None


class ClientSessions:
    """Log levels and subscriptions by connection. They are forgotten with their connection.

    A client that does not read its notifications has one waiting per URI at most.
    """

    def __init__(self) -> None:
        self._entries: WeakKeyDictionary[Any, _Entry] = WeakKeyDictionary()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def find_level(self, context: Any) -> str:
        """Return the least level of the log lines that the client wants."""
        entry = self._entries.get(_find_connection(context))
        return _DEFAULT_LEVEL if entry is None else entry.level

    def set_level(self, context: Any, level: str) -> None:
        """Set the least level of the log lines that the client wants."""
        self._open(context).level = level

    def subscribe(self, context: Any, uri: str) -> None:
        """Tell the client from now on when a resource has changed."""
        entry = self._open(context)
        if len(entry.uris | {uri}) > _MAX_URIS:
            raise MCPError(types.INVALID_PARAMS, f"a session has {_MAX_URIS} subscriptions at most")
        self._loop = asyncio.get_running_loop()
        entry.uris.add(uri)

    def unsubscribe(self, context: Any, uri: str) -> None:
        """Do not tell the client any more when a resource has changed."""
        entry = self._entries.get(_find_connection(context))
        if entry is not None:
            entry.uris.discard(uri)
            entry.waiting.discard(uri)

    def notify(self, uri: str) -> None:
        """Tell the clients that have subscribed to a resource. May be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._notify, uri)

    def _notify(self, uri: str) -> None:
        for connection, entry in list(self._entries.items()):
            if uri in entry.uris:
                entry.waiting.add(uri)
                if entry.sender is None:
                    entry.sender = asyncio.ensure_future(_send_all(connection, entry))

    def _open(self, context: Any) -> _Entry:
        return self._entries.setdefault(_find_connection(context), _Entry())


async def _send_all(connection: Any, entry: _Entry) -> None:
    """Send the notifications that wait, one after the other."""
    try:
        while entry.waiting:
            uri = entry.waiting.pop()
            async with asyncio.timeout(_SEND_S):
                await connection.send_resource_updated(uri)
    except Exception as error:  # noqa: BLE001 (the session may have ended in any way)
        _logger.debug("an MCP client cannot be told of changes: %r", error)
        entry.waiting.clear()
    finally:
        entry.sender = None


def _find_connection(context: Any) -> Any:
    return context.session._connection
