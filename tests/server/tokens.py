"""Access tokens of a server in SQLite."""

from __future__ import annotations

from headrace.server.service import Service
from headrace.server.storage.access_tokens import AccessTokens, Scope
from headrace.server.storage.usage.limits import UsageLimits


def create_token(
    service: Service,
    owner: str,
    name: str = "",
    now_ms: int = 0,
    scope: Scope = "chat",
    limits: UsageLimits | None = None,
) -> str:
    """Create an access token of a running server."""
    return AccessTokens(service.database).create(owner, name, now_ms, scope, limits=limits)
