"""One session with an MCP server, opened and closed by a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, cast

from headrace.errors import HeadraceError
from headrace.mcp.address import ServerAddress
from headrace.mcp.limits import MCPLimits
from headrace.mcp.transport.http import open_http
from headrace.mcp.transport.stdio import open_stdio

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams

Elicit = Callable[[Any], Awaitable[Any]]
_CLOSING_S: Final = 8.0
_LISTEN_PAUSE_S: Final = 5.0


class ConnectionFailed(HeadraceError):
    """A server cannot be reached, or the connection to it has ended."""


class Connection:
    """A session. It ends when the server does; then a new connection has to be made.

    `elicit` answers questions of servers whose revision of the protocol asks them in the middle of
    a call; `on_change` is called when the server says that its list of tools has changed.
    All methods are called on the loop of the connections.
    """

    def __init__(
        self,
        address: ServerAddress,
        limits: MCPLimits,
        elicit: Elicit,
        on_change: Callable[[], None],
        auth: Any = None,
    ) -> None:
        self._address = address
        self._limits = limits
        self._elicit = elicit
        self._on_change = on_change
        self._auth = auth
        self._client: Client | None = None
        self._end = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._why = ""
        self.tells_changes = False
        """Whether the server tells when its list of tools changes."""

    @property
    def client(self) -> Client:
        """The client of the `mcp` package. Raises `ConnectionFailed` if the session is over."""
        if self._client is None or self._end.is_set():
            raise ConnectionFailed(self._why or "the connection is closed")
        return self._client

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._client is not None and not self._end.is_set()

    @property
    def why(self) -> str:
        """Why the connection has ended."""
        return self._why

    async def open(self) -> None:
        """Start the server, or connect to it, and agree on a revision of the protocol.
        Raises `ConnectionFailed`."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(ready), name="mcp connection")
        try:
            async with asyncio.timeout(self._limits.connect_s):
                await asyncio.shield(ready)
        except TimeoutError:
            self.end(f"it did not answer within {self._limits.connect_s:g} s")
            await self.close()
            raise ConnectionFailed(self._why) from None
        except asyncio.CancelledError:
            self.end("the connection was not needed any more")
            await self.close()
            raise

    def end(self, why: str) -> None:
        """Mark the session as over; its task then closes everything."""
        self._why = self._why or why
        self._end.set()

    async def close(self) -> None:
        """End the session, and wait until the server has been stopped."""
        self.end("the connection was closed")
        if self._task is None:
            return
        _, pending = await asyncio.wait([self._task], timeout=_CLOSING_S)
        for task in pending:
            task.cancel()

    async def _run(self, ready: asyncio.Future[None]) -> None:
        try:
            opening = asyncio.create_task(self._serve(ready))
            ended = asyncio.create_task(self._end.wait())
            await asyncio.wait([opening, ended], return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                # It ended before it was ready, or takes too long.
                opening.cancel()
            ended.cancel()
            await asyncio.wait([opening])
            if not opening.cancelled() and (error := opening.exception()) is not None:
                self.end(_describe(error))
        finally:
            self.end("the connection has ended")
            self._client = None
            if not ready.done():
                ready.set_exception(ConnectionFailed(self._why))
                # Nobody may wait for it any more.
                ready.exception()

    async def _serve(self, ready: asyncio.Future[None]) -> None:
        from mcp import Client
        from mcp_types import Implementation

        client = Client(
            self._open_transport(),
            elicitation_callback=self._answer,
            message_handler=self._take_message,
            client_info=Implementation(name="headrace", version=version("headrace")),
            cache=None,
        )
        async with client:
            self._client = client
            if not ready.done():
                ready.set_result(None)
            listening = asyncio.create_task(self._listen(client))
            try:
                await self._end.wait()
            finally:
                listening.cancel()
                with suppress(asyncio.CancelledError):
                    await listening

    def _open_transport(self) -> AbstractAsyncContextManager[TransportStreams]:
        if self._address.url is not None:
            return open_http(self._address, self._limits, self._auth)
        return open_stdio(self._address, self._limits, self.end)

    async def _answer(self, context: Any, params: Any) -> Any:
        return await self._elicit(params)

    async def _take_message(self, message: Any) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self._on_change()

    async def _listen(self, client: Client) -> None:
        """Let the server tell when its list of tools changes, if it can."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self.tells_changes = True
            return
        while True:
            with suppress(Exception):
                async with client.listen(tools_list_changed=True) as events:
                    self.tells_changes = True
                    async for _ in events:
                        self._on_change()
            self.tells_changes = False
            await asyncio.sleep(_LISTEN_PAUSE_S)


def _describe(error: BaseException) -> str:
    """Return what went wrong, without the groups that wrap it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    words = str(error)
    if isinstance(error, OSError) and error.strerror:
        words = error.strerror
    return words or type(error).__name__
