"""The exchange: where a request goes. The data folder is ours while we answer from it, and no
longer; where a server holds it, that server answers.

So a chat that waits for its user is in nobody's way: a server may start meanwhile, and another
chat may ask."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.client.connection import Line
from headrace.errors import RequestFailed
from headrace.server.storage.data_folder import FolderHeld

if TYPE_CHECKING:
    from headrace.engine import Agent

_PAUSE_S = 0.1
_PATIENCE_S = 5.0
# A server decides by itself what it keeps; a chat in its folder throws nothing away.
_KEEP_S = 1e10
_DRAIN_S = 1.0


class Exchange:
    """Finds the line for each request. `agent` makes the one that answers here; it is asked
    anew for each, so that another may be chosen."""

    def __init__(self, data: Path, agent: Callable[[], Agent]) -> None:
        self._data = data
        self._agent = agent
        self.waits: Callable[[str], None] = lambda told: None
        """Told why a request cannot be sent yet."""
        self.address: str | None = None
        """Of the server that was asked last, empty for this process; None at first."""

    @asynccontextmanager
    async def line(self, *, is_patient: bool = True) -> AsyncGenerator[Line, None]:
        """A line, for as long as it is needed. Waits for another chat that holds the folder,
        or raises `FolderHeld`; raises `RequestFailed` where a server holds it and does not
        answer."""
        async with AsyncExitStack() as stack:
            line = await self._found(stack, is_patient=is_patient)
            self.address = line.address
            yield line

    async def _found(self, stack: AsyncExitStack, *, is_patient: bool) -> Line:
        time = asyncio.get_running_loop().time
        until_s = time() + _PATIENCE_S
        while True:
            try:
                return await stack.enter_async_context(self._own())
            except FolderHeld as error:
                holder = error.holder
                if not holder.address and not is_patient:
                    raise
            if holder.address:
                # A server that has just begun does not listen yet; one that is gone has left
                # its address behind until the next one writes its own.
                line = await stack.enter_async_context(_remote(holder.address))
                if await _answers(line, is_last=time() > until_s):
                    return line
            else:
                self.waits(f"Waiting for process {holder.pid}, which has the data folder")
            await asyncio.sleep(_PAUSE_S)

    @asynccontextmanager
    async def _own(self) -> AsyncGenerator[Line, None]:
        from headrace.client.in_process import AppLine
        from headrace.server.app import create_app

        app = create_app(self._agent(), data=self._data, keep_logs_s=_KEEP_S, drain_s=_DRAIN_S)
        async with app.state.service:
            yield AppLine(app)


@asynccontextmanager
async def _remote(address: str) -> AsyncGenerator[Line, None]:
    from headrace.client.http import HTTPLine

    async with HTTPLine(address) as line:
        yield line


async def _answers(line: Line, *, is_last: bool) -> bool:
    """Whether a server of ours is there; no token goes along yet."""
    try:
        reply = await line.send("GET", "/readyz")
    except RequestFailed:
        if is_last:
            raise
        return False
    await reply.aclose()
    return True


def token_from(file: str | None) -> str | None:
    """The token that was given, if any."""
    if file is not None:
        return Path(file).read_text("utf-8").strip()
    return os.environ.get("HEADRACE_TOKEN") or None
