"""Access tokens of MCP servers, in a file that only the user can read."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


class TokenFile:
    """The tokens and the registration for one server. Several servers may share a file; without a
    path everything stays in memory. `client` is a registration that is known beforehand."""

    def __init__(self, path: Path | None, server: str, client: dict[str, Any] | None) -> None:
        self._path = path
        self._server = server
        self._client = client
        self._memory: dict[str, Any] = {}

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens of the server, or None."""
        from mcp.shared.auth import OAuthToken

        found = self._read().get("tokens")
        return None if found is None else OAuthToken.model_validate(found)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens."""
        self._write("tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registration at the authorization server, or None."""
        from mcp.shared.auth import OAuthClientInformationFull

        found = self._client or self._read().get("client")
        return None if found is None else OAuthClientInformationFull.model_validate(found)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a new registration."""
        self._write("client", client_info.model_dump(mode="json", exclude_none=True))

    def _read_all(self) -> dict[str, dict[str, Any]]:
        if self._path is None:
            return {self._server: self._memory}
        # A file that cannot be read makes the user sign in again.
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, dict[str, Any]])
        return {}

    def _read(self) -> dict[str, Any]:
        return self._read_all().get(self._server, {})

    def _write(self, name: str, value: dict[str, Any]) -> None:
        if self._path is None:
            self._memory[name] = value
            return
        servers = self._read_all()
        servers.setdefault(self._server, {})[name] = value
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # The file is created with rights for the user alone, and replaced as a whole.
        handle, temporary = tempfile.mkstemp(dir=self._path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(servers))
        Path(temporary).replace(self._path)
