"""Frames that are written at the moment they come: once, in order, to each client alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from headrace.events import Record, TextDelta
from headrace.rehearsal.script import say, turn
from headrace.server import create_app
from headrace.server.http.direct_writer import (
    DirectWriter,
    allow_direct_writes,
    find_direct_writer,
)
from headrace.server.runs.broadcast import Broadcast, Subscription
from headrace.server.runs.log_replay import Replay
from headrace.server.sse import START, FrameId
from tests.server.serving import frames, running, scripted, served
from tests.server.test_slow_clients import Words

ANSWER = " ".join(f"word-{n}" for n in range(150))


class Log:
    """Records that a broadcast gets, and can be read again."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.broadcast = Broadcast(self._open_replay, Words())

    def add(self, size: int = 40) -> None:
        seq = len(self.records) + 1
        self.records.append(Record(seq, 0, TextDelta(0, f"{seq} " + "w" * size)))
        self.broadcast.feed(self.records[-1:])

    @property
    def whole(self) -> list[bytes]:
        return [frame for record in self.records for frame in Words().feed(record)]

    def _open_replay(self, after: FrameId) -> Replay:
        async def pages() -> AsyncGenerator[list[Record], None]:
            yield list(self.records)

        return Replay(pages(), Words(), after)


async def read_all(subscription: Subscription, read: list[bytes], write: Any) -> None:
    """Read as an `EventStream` does."""
    async for batch in subscription:
        read += batch
        await subscription.push_to(write)


def test_a_frame_is_written_before_the_record_is_published() -> None:
    async def main() -> None:
        log, read = Log(), list[bytes]()
        subscription = log.broadcast.subscribe(START)

        def write(batch: list[bytes]) -> bool:
            read.extend(batch)
            return True

        log.add()
        reading = asyncio.ensure_future(read_all(subscription, read, write))
        while not read:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        for _ in range(50):
            log.add()
            # Without a turn of the event loop.
            assert read == log.whole
        log.broadcast.close()
        await reading
        assert read == log.whole

    asyncio.run(main())


@pytest.mark.parametrize("seed", range(20))
def test_whenever_a_client_does_not_read_it_gets_every_frame_once(seed: int) -> None:
    chance = random.Random(seed)

    async def main() -> None:
        log, read = Log(), list[bytes]()
        subscription = log.broadcast.subscribe(START)

        def write(batch: list[bytes]) -> bool:
            if chance.random() < 0.3:
                return False
            read.extend(batch)
            return True

        reading = asyncio.ensure_future(read_all(subscription, read, write))
        for _ in range(300):
            # Some are so large that others are trimmed before they are read.
            log.add(size=200_000 if chance.random() < 0.02 else 40)
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
        log.broadcast.close()
        await reading
        assert read == log.whole

    asyncio.run(main())


def test_a_client_that_fails_disturbs_no_other() -> None:
    async def main() -> None:
        log, bad_read, good_read = Log(), list[bytes](), list[bytes]()
        bad, good = log.broadcast.subscribe(START), log.broadcast.subscribe(START)

        def fail(batch: list[bytes]) -> bool:
            raise OSError("gone")

        def write(batch: list[bytes]) -> bool:
            good_read.extend(batch)
            return True

        log.add()
        failing = asyncio.ensure_future(read_all(bad, bad_read, fail))
        reading = asyncio.ensure_future(read_all(good, good_read, write))
        while not (bad_read and good_read):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        for _ in range(10):
            log.add()
        with pytest.raises(OSError, match="gone"):
            await failing
        log.broadcast.close()
        await reading
        assert good_read == log.whole
        assert bad_read == log.whole[:1]

    asyncio.run(main())


def test_a_live_answer_is_written_directly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = DirectWriter.write

    def note(self: DirectWriter, data: bytes) -> bool:
        is_written = write(self, data)
        if is_written:
            written.append(data)
        return is_written

    monkeypatch.setattr(DirectWriter, "write", note)

    async def main() -> None:
        async with served(scripted(turn(say(ANSWER), pace_s=0.001)), tmp_path) as server:
            event_id, _, whole = await server.ask("Go.", protocol="ux")
            await server.idle()
            async with server.resume(event_id, "0", "ux") as response:
                assert await response.read() == whole
        direct = b"".join(written)
        assert direct in whole
        assert len(frames(direct)) > len(frames(whole)) / 2

    asyncio.run(main())


def test_other_servers_get_their_frames_through_asgi() -> None:
    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        raise AssertionError

    class H11Cycle:
        async def receive(self) -> Any:
            raise AssertionError

        async def send(self, message: Any) -> None:
            raise AssertionError

    cycle = H11Cycle()
    for ways in ((receive, send), (cycle.receive, send), (cycle.receive, cycle.send)):
        scope: dict[str, Any] = {"type": "http", "method": "GET"}
        allow_direct_writes(scope, *ways)
        assert find_direct_writer(scope, ways[0]) is None


@pytest.mark.parametrize("is_around", [True, False])
def test_middleware_sees_all_that_is_sent(is_around: bool, tmp_path: Path) -> None:
    """Middleware of an application around the server, or that was added to the server: it may
    change what is sent, for example compress it."""
    app = create_app(scripted(turn(say(ANSWER), pace_s=0.001)), data=tmp_path)
    served_app: Any = app
    if is_around:
        served_app = Loud(app)
    else:
        app.add_middleware(Loud)

    async def main() -> bytes:
        async with running(served_app) as url, aiohttp.ClientSession() as http:
            body = {"message": "Go."}
            async with http.post(f"{url}/api/chat?protocol=ux", json=body) as response:
                return await response.read()

    data = asyncio.run(main())
    assert b"MESSAGE_FINAL" in data
    assert data == data.upper()


class Loud:
    """Middleware that changes what is sent."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def change(message: Any) -> None:
            await send(
                {**message, "body": message["body"].upper()} if "body" in message else message
            )

        await self._app(scope, receive, change)
