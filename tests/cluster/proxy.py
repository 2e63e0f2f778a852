"""A proxy in front of PostgreSQL or Valkey that loses connections, freezes, and answers late."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Proxy:
    """Passes bytes on between servers and the database, until it is told otherwise."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_open = asyncio.Event()
        self._is_open.set()
        self.loses_replies = 0.0
        """Chance that a reply is lost, and its connection with it."""
        self.late_s = 0.0
        """Longest time by which a reply is late; each is late by another time."""
        self.lost = 0
        """Number of replies that were lost."""
        self.port = 0
        self._chance = random.Random(1)

    @property
    def url(self) -> str:
        """Address of the database through the proxy."""
        user = f"{self._parts.username}@" if self._parts.username else ""
        return f"{self._parts.scheme}://{user}127.0.0.1:{self.port}{self._parts.path}"

    def freeze(self) -> None:
        """Pass nothing on."""
        self._is_open.clear()

    def thaw(self) -> None:
        """Pass everything on that has waited."""
        self._is_open.set()

    def cut(self) -> None:
        """End all connections."""
        for writer in list(self._writers):
            writer.close()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with suppress(OSError):
            there, to_database = await asyncio.open_connection(
                self._parts.hostname, self._parts.port
            )
            self._writers |= {writer, to_database}
            await asyncio.gather(
                self._pass(reader, to_database, is_reply=False),
                self._pass(there, writer, is_reply=True),
            )
        for one in (writer, to_database):
            self._writers.discard(one)
            one.close()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_reply: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                await self._is_open.wait()
                if is_reply and self._chance.random() < self.loses_replies:
                    self.lost += 1
                    break
                if is_reply and self.late_s:
                    await asyncio.sleep(self._chance.random() * self.late_s)
                writer.write(data)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[Proxy]:
    """A proxy in front of a database."""
    proxy = Proxy(url)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        proxy.thaw()
        server.close()
        proxy.cut()
