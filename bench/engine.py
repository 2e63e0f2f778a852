"""A turn of our engine over reads from memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from headrace.engine import Agent, Middleware, RunView
from headrace.events import Record
from headrace.transport.transport import HTTPCall


class Reads:
    """A transport that answers each call with the same reads, from memory."""

    def __init__(self, reads: list[bytes]) -> None:
        self._reads = reads

    async def open(self, call: HTTPCall) -> _ReadStream:
        return _ReadStream(self._reads)

    async def aclose(self) -> None:
        pass


class _ReadStream:
    request_id: str | None = None
    first_event_by_s: float | None = None

    def __init__(self, reads: list[bytes]) -> None:
        self._reads = reads

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read

    async def aclose(self) -> None:
        pass


class _Observer(Middleware):
    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, run: RunView, record: Record) -> None:
        self.seen += 1


def engine(reads: list[bytes]) -> Callable[[], int]:
    """Run an agent whose provider sends these reads; the records are counted and dropped."""

    async def main() -> int:
        agent = Agent(
            "openai-chat:gpt-5", transport=Reads(reads), api_key="none", middleware=[_Observer()]
        )
        seen = 0
        async with agent.run("How much water reaches the wheel?") as run:
            async for _ in run:
                seen += 1
        return seen

    return lambda: asyncio.run(main())
