"""The whole path: from a socket on loopback, one event for each read, to events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import httpx

import headrace
from bench import streams
from bench.contest import HTTPX, OPENAI, Contest
from bench.measure import Contestant, race
from bench.upstream import upstream
from headrace.transport import HTTPCall
from headrace.transport.http import HTTPTransport

AIOHTTP = "aiohttp alone, bytes dropped"
STREAM = "**Headrace**, `async with stream(…)`"
STREAM_SYNC = "Headrace, `with stream(…)`"

_MODEL = "compatible:bench"
_BODY = b'{"model": "bench", "messages": [], "stream": true}'
_HEADERS = {"content-type": "application/json"}


@dataclass
class Path:
    """The contest, and how many reads each reader got for an event."""

    contest: Contest
    reads_an_event: dict[str, float]


@dataclass
class _Reads:
    """What came in, to be compared with what was sent."""

    count: int = 0
    size: int = 0

    async def feed(self, reads: AsyncIterator[bytes]) -> None:
        count = size = 0
        async for read in reads:
            count += 1
            size += len(read)
        self.count, self.size = count, size


@dataclass
class _Readers:
    """Every reader of one server; a run returns how many events came."""

    base_url: str
    events: int
    size: int
    reads: dict[str, int] = field(default_factory=dict[str, int])

    def bare_aiohttp(self) -> int:
        async def read() -> _Reads:
            reads = _Reads()
            async with aiohttp.ClientSession() as session:
                url = f"{self.base_url}/chat/completions"
                async with session.post(url, data=_BODY, headers=_HEADERS) as response:
                    await reads.feed(response.content.iter_any())
            return reads

        return self._dropped(AIOHTTP, read)

    def bare_httpx(self) -> int:
        async def read() -> _Reads:
            reads = _Reads()
            async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
                url = f"{self.base_url}/chat/completions"
                async with client.stream("POST", url, content=_BODY, headers=_HEADERS) as response:
                    await reads.feed(response.aiter_bytes())
            return reads

        return self._dropped(HTTPX, read)

    def headrace_async(self) -> int:
        async def read() -> int:
            seen = 0
            async with HTTPTransport() as transport, self._turn(transport=transport) as turn:
                async for _ in turn:
                    seen += 1
            return seen

        return asyncio.run(read())

    def headrace_sync(self) -> int:
        seen = 0
        with self._turn() as turn:
            for _ in turn:
                seen += 1
        return seen

    def openai_sdk(self) -> int:
        import openai

        async def read() -> int:
            seen = 0
            async with openai.AsyncOpenAI(api_key="none", base_url=self.base_url) as client:
                create: Any = client.chat.completions.create
                messages = [{"role": "user", "content": "?"}]
                async for _ in await create(model="bench", messages=messages, stream=True):
                    seen += 1
            return seen

        return asyncio.run(read())

    def count_headrace(self) -> None:
        """How many reads Headrace gets: a run of its own, since counting them costs."""

        async def read() -> int:
            reads = 0
            async with HTTPTransport() as transport:
                url = f"{self.base_url}/chat/completions"
                stream = await transport.open(HTTPCall(url=url, headers=_HEADERS, body=_BODY))
                async for _ in stream:
                    reads += 1
            return reads

        self.reads[STREAM] = asyncio.run(read())

    def _turn(self, **options: Any) -> headrace.TurnStream:
        return headrace.stream(
            _MODEL, "How much water?", base_url=self.base_url, api_key="none", **options
        )

    def _dropped(self, name: str, read: Callable[[], Awaitable[_Reads]]) -> int:
        async def main() -> _Reads:
            return await read()

        reads = asyncio.run(main())
        self.reads[name] = reads.count
        return self.events if reads.size == self.size else 0


def whole_path(events: int, scale: int, tell: Callable[[str], None]) -> Path:
    """Everybody reads the same server, which never hurries."""
    stream = streams.chat(events)
    least = events * 9 // 10
    with upstream(events) as base_url:
        readers = _Readers(base_url, events, sum(map(len, stream.reads)))
        contestants = [
            Contestant(AIOHTTP, readers.bare_aiohttp, 7 // scale, least),
            Contestant(STREAM, readers.headrace_async, 7 // scale, least),
            Contestant(STREAM_SYNC, readers.headrace_sync, 7 // scale, least),
            Contestant(HTTPX, readers.bare_httpx, 7 // scale, least),
            Contestant(OPENAI, readers.openai_sdk, 3 // scale, least),
        ]
        race(contestants, tell)
        readers.count_headrace()
    ratios = {name: reads / len(stream.reads) for name, reads in readers.reads.items()}
    contest = Contest("Over a socket, one event per read", stream, len(stream.reads), contestants)
    return Path(contest, ratios)
