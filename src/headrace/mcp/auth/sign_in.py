"""Signing in to MCP servers with OAuth: the user's browser, a loopback address and a token file.

The flow itself (discovery, registration, PKCE, refresh) is that of the `mcp` package.
"""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from headrace.address import is_loopback
from headrace.errors import UsageError
from headrace.mcp.auth.token_file import TokenFile
from headrace.mcp.connection import ConnectionFailed

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult

_HOST: Final = "127.0.0.1"
_PATH: Final = "/callback"
_MAX_HEAD_BYTES: Final = 16_384
_PAGE: Final = "You can close this window and go back to Headrace."


class SignIn:
    """How a user signs in to an MCP server that asks for it, for `MCP(url, sign_in=…)`.

    The tokens are kept in the file at `path`, which only the user can read, or in memory. `open` is
    called with the address that the user has to visit; by default it is opened in the browser.
    The browser then returns to a loopback address with this `port`. `client_id` and
    `client_secret` are for servers that do not register clients by themselves, and
    `client_metadata_url` for those that accept the address of a description as the id of a client.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        open: Callable[[str], object] | None = None,
        port: int = 8733,
        client_id: str | None = None,
        client_secret: str | None = None,
        client_metadata_url: str | None = None,
        timeout_s: float = 300.0,
    ) -> None:
        if not 0 < port < 65_536:
            raise UsageError(f"expected a port from 1 to 65535; got {port}")
        self._path = None if path is None else Path(path)
        self._open = open or webbrowser.open
        self._port = port
        self._client_id = client_id
        self._client_secret = client_secret
        self._client_metadata_url = client_metadata_url
        self.timeout_s = timeout_s
        """How long the user may take."""
        self._kept: dict[str, TokenFile] = {}

    @property
    def redirect_url(self) -> str:
        """The address to which the browser returns."""
        return f"http://{_HOST}:{self._port}{_PATH}"

    def create_auth(self, url: str) -> OAuthClientProvider:
        """Return what adds tokens to the requests to a server, and asks the user for them if it
        must."""
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import OAuthClientMetadata
        from pydantic import AnyUrl

        tokens = self._kept.get(url)
        if tokens is None:
            tokens = self._kept[url] = TokenFile(self._path, url, self._known_client())
        visit = _Visit(self._open, self._port, self.timeout_s)
        return OAuthClientProvider(
            url,
            OAuthClientMetadata(client_name="Headrace", redirect_uris=[AnyUrl(self.redirect_url)]),
            tokens,
            redirect_handler=visit.send_user,
            callback_handler=visit.wait,
            client_metadata_url=self._client_metadata_url,
        )

    def _known_client(self) -> dict[str, Any] | None:
        if self._client_id is None:
            return None
        method = "none" if self._client_secret is None else "client_secret_basic"
        return {
            "client_id": self._client_id,
            "client_secret": self._client_secret,
            "redirect_uris": [self.redirect_url],
            "token_endpoint_auth_method": method,
        }


class _Visit:
    """One visit of the user's browser to the authorization server and back."""

    def __init__(self, open: Callable[[str], object], port: int, timeout_s: float) -> None:
        self._open = open
        self._port = port
        self._timeout_s = timeout_s
        self._server: asyncio.Server | None = None
        self._returned: asyncio.Future[dict[str, str]] | None = None

    async def send_user(self, url: str) -> None:
        """Listen for the return of the browser, and send the user to the address."""
        parts = urlsplit(url)
        is_local = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if parts.scheme != "https" and not is_local:
            raise ConnectionFailed("it sends users to an address that is not https")
        self._returned = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(
                self._answer, _HOST, self._port, limit=_MAX_HEAD_BYTES
            )
        except OSError as error:
            text = f"the port {self._port} for signing in cannot be used: {error.strerror}"
            raise ConnectionFailed(text) from None
        await asyncio.to_thread(self._open, url)

    async def wait(self) -> AuthorizationCodeResult:
        """Wait for the return of the browser."""
        from mcp.shared.auth import AuthorizationCodeResult

        assert self._returned is not None
        assert self._server is not None
        try:
            async with asyncio.timeout(self._timeout_s):
                fields = await self._returned
        except TimeoutError:
            raise ConnectionFailed("nobody has signed in in time") from None
        finally:
            self._server.close()
        if "code" not in fields:
            raise ConnectionFailed("the sign-in was refused")
        return AuthorizationCodeResult(
            code=fields["code"], state=fields.get("state"), iss=fields.get("iss")
        )

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._returned is not None
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
            target = urlsplit(head.split(b" ", 2)[1].decode("latin-1"))
            is_return = target.path == _PATH
            body = _PAGE if is_return else "Not found."
            status = "200 OK" if is_return else "404 Not Found"
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
            )
            await writer.drain()
            if is_return and not self._returned.done():
                fields = parse_qs(target.query)
                self._returned.set_result({name: value[0] for name, value in fields.items()})
        except (TimeoutError, OSError, IndexError, asyncio.IncompleteReadError):
            pass
        except asyncio.LimitOverrunError:
            pass
        finally:
            writer.close()
