"""The sessions of MCP clients, with a limit for each user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

if TYPE_CHECKING:
    from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
    from mcp.server.streamable_http import StreamableHTTPServerTransport


class SessionManager(StreamableHTTPSessionManager):
    """Opens no more than `max_per_user` sessions for one user, so that others find room. None
    stands for no limit. Clients of the revision 2026-07-28 need no session."""

    def __init__(self, server: Server[Any], max_per_user: int | None, **options: Any) -> None:
        super().__init__(server, **options)
        self._max_per_user = max_per_user

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        most = self._max_per_user
        opened = [owner for owner in self._session_owners.values() if owner == requestor]
        if most is not None and len(opened) >= most:
            return None
        return super()._admit_session(requestor)
