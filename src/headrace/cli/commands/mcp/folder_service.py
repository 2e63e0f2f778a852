"""The service of a data folder, opened only while requests need it.

The client of an MCP server keeps it running for hours; others must be able to use the folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.server import create_app
from headrace.server.service import Service
from headrace.server.storage.data_folder import FolderHeld

_PATIENCE_S: Final = 5.0
_PAUSE_S: Final = 0.1
# Only a server deletes old records.
_KEEP_S: Final = 1e10
_DRAIN_S: Final = 1.0


class FolderService:
    """Opens the service for the first of several requests, and closes it after the last one."""

    def __init__(self, agent: Agent, data: Path) -> None:
        self._agent = agent
        self._data = data
        self._lock = asyncio.Lock()
        self._users = 0
        self._service: Service | None = None

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Service, None]:
        """Yield the service. Raises `UsageError` if a server uses the folder."""
        async with self._lock:
            if self._service is None:
                self._service = await self._open()
            self._users += 1
            service = self._service
        try:
            yield service
        finally:
            self._users -= 1
            # The task of a request may be cancelled; the folder must be released all the same.
            await asyncio.shield(asyncio.ensure_future(self._close_unused()))

    async def _close_unused(self) -> None:
        async with self._lock:
            if self._users == 0 and self._service is not None:
                service, self._service = self._service, None
                await service.close()

    async def _open(self) -> Service:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + _PATIENCE_S
        while True:
            try:
                app = create_app(
                    self._agent, data=self._data, keep_logs_s=_KEEP_S, drain_s=_DRAIN_S
                )
                service: Service = app.state.service
                await service.open()
                return service
            except FolderHeld as error:
                if error.holder.address:
                    text = f"a server uses the data folder: connect to {error.holder.address}/mcp"
                    raise UsageError(text) from None
                if loop.time() > until_s:
                    raise
            await asyncio.sleep(_PAUSE_S)
