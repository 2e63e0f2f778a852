"""What the server remembers of sessions of older revisions: log levels and subscriptions."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from headrace.log import get_logger

_MAX_SESSIONS: Final = 1_000
_MAX_URIS: Final = 100
_DEFAULT_LEVEL: Final = "info"
_logger = get_logger("server")


class _Entry:
    def __init__(self) -> None:
        self.level: str = _DEFAULT_LEVEL
        self.session: Any = None
        self.uris: set[str] = set()


class ClientSessions:
    """Log levels and subscriptions by session. Those of the oldest sessions are forgotten when
    there are too many."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def find_level(self, context: Any) -> str:
        """Return the least level of the log lines that the client wants."""
        entry = self._entries.get(_find_id(context))
        return _DEFAULT_LEVEL if entry is None else entry.level

    def set_level(self, context: Any, level: str) -> None:
        """Set the least level of the log lines that the client wants."""
        self._open(context).level = level

    def subscribe(self, context: Any, uri: str) -> None:
        """Tell the client from now on when a resource has changed."""
        entry = self._open(context)
        if len(entry.uris) >= _MAX_URIS:
            raise MCPError(types.INVALID_PARAMS, f"a session has {_MAX_URIS} subscriptions at most")
        self._loop = asyncio.get_running_loop()
        entry.session = context.session
        entry.uris.add(uri)

    def unsubscribe(self, context: Any, uri: str) -> None:
        """Do not tell the client any more when a resource has changed."""
        entry = self._entries.get(_find_id(context))
        if entry is not None:
            entry.uris.discard(uri)

    def notify(self, uri: str) -> None:
        """Tell the clients that have subscribed to a resource. May be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._notify, uri)

    def _notify(self, uri: str) -> None:
        for session_id, entry in list(self._entries.items()):
            if uri in entry.uris:
                task = asyncio.ensure_future(self._send(session_id, entry, uri))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _send(self, session_id: str, entry: _Entry, uri: str) -> None:
        try:
            await entry.session.send_resource_updated(uri)
        except Exception as error:  # noqa: BLE001 (the session may have ended in any way)
            _logger.debug("an MCP client cannot be told that %s has changed: %r", uri, error)
            self._entries.pop(session_id, None)

    def _open(self, context: Any) -> _Entry:
        session_id = _find_id(context)
        if session_id not in self._entries and len(self._entries) >= _MAX_SESSIONS:
            del self._entries[next(iter(self._entries))]
        return self._entries.setdefault(session_id, _Entry())


def _find_id(context: Any) -> str:
    """Return the id of the session. On standard input and output there is only one."""
    return "" if context.request is None else context.request.headers.get("mcp-session-id", "")
