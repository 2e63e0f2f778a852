"""Targets: where the requests of a client go. A target provides a connection for each request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.client.connection import ClientError, Connection
from headrace.server.api import ModelInfo
from headrace.server.storage.data_folder import FolderHeld

if TYPE_CHECKING:
    from headrace.engine import Agent

_PAUSE_S = 0.1
_PATIENCE_S = 5.0
# Only a server deletes old records; a client that uses its folder for a moment deletes nothing.
_KEEP_S = 1e10
_DRAIN_S = 1.0


class ServerTarget:
    """One server: at a URL, or an application in this process."""

    def __init__(self, connection: Connection, service: Any = None) -> None:
        self.address = connection.address
        """URL of the server, or empty if it runs in this process."""
        self._connection = connection
        self._service = service
        self._is_opener = False

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Connection, None]:
        if self._service is not None and not self._service.is_ready:
            self._is_opener = True
            await self._service.open()
        yield self._connection

    async def own_models(self) -> None:
        """Return None: only the server knows its models."""

    async def aclose(self) -> None:
        """Close the connection, and the application if this client has opened it."""
        await self._connection.aclose()
        if self._is_opener:
            self._is_opener = False
            await self._service.close()


class FolderTarget:
    """A data folder: this process answers, unless a server uses the folder; then that one does.

    The folder is locked only during a request, so a server may start in between, and other clients
    may use it. `agent` returns the agent that answers here; it is called for each connection.
    """

    def __init__(
        self, data: Path, agent: Callable[[], Agent], on_wait: Callable[[str], None] | None = None
    ) -> None:
        self._data = data
        self._agent = agent
        self._on_wait = on_wait
        self.address = ""
        """URL of the server that was used last, or empty if this process answered."""
        self._lock = asyncio.Lock()
        self._connection: Connection | None = None
        self._users = 0
        self._stack = AsyncExitStack()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Connection, None]:
        """Open a connection, or share the one that another request uses.

        Waits while another client uses the folder. Raises `ClientError` if a server uses it and
        does not respond.
        """
        async with self._lock:
            if self._connection is None:
                self._connection = await self._open()
                self.address = self._connection.address
            self._users += 1
            connection = self._connection
        try:
            yield connection
        finally:
            self._users -= 1
            async with self._lock:
                if not self._users:
                    self._connection = None
                    await self.aclose()

    async def own_models(self) -> list[ModelInfo] | None:
        """Describe the agent, unless a server uses the folder."""
        from headrace.server.agent_config import describe_agent
        from headrace.server.storage.data_folder import find_holder

        holder = find_holder(self._data)
        if holder is not None and holder.address:
            return None
        self.address = ""
        return [describe_agent("default", self._agent())]

    async def aclose(self) -> None:
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()

    async def _open(self) -> Connection:
        time = asyncio.get_running_loop().time
        until_s = time() + _PATIENCE_S
        while True:
            try:
                return await self._open_folder()
            except FolderHeld as error:
                holder = error.holder
            if holder.address:
                # A server that is starting does not listen yet; one that was killed has left its
                # address until the next one writes its own.
                connection = await self._open_http(holder.address, is_last=time() > until_s)
                if connection is not None:
                    return connection
            elif self._on_wait is not None:
                self._on_wait(f"Waiting for process {holder.pid}, which has the data folder")
            await asyncio.sleep(_PAUSE_S)

    async def _open_folder(self) -> Connection:
        from headrace.client.in_process import AppConnection
        from headrace.server import create_app

        app = create_app(self._agent(), data=self._data, keep_logs_s=_KEEP_S, drain_s=_DRAIN_S)
        await self._stack.enter_async_context(app.state.service)
        return AppConnection(app)

    async def _open_http(self, address: str, *, is_last: bool) -> Connection | None:
        """Connect to a server, or return None if it does not respond yet.

        The access token is not sent before a server has responded.
        """
        from headrace.client.http import HTTPConnection

        connection = HTTPConnection(address)
        try:
            response = await connection.request("GET", "/readyz")
        except BaseException as error:
            await connection.aclose()
            if is_last or not isinstance(error, ClientError):
                raise
            return None
        await response.aclose()
        self._stack.push_async_callback(connection.aclose)
        return connection
