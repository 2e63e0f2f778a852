"""Clients that read late or never: bounded, let go in time, and nobody else's concern (T19)."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.events import Record, TextDelta
from headrace.rehearsal.script import say, turn
from headrace.server.connections import ClientState
from headrace.server.http.event_stream import EventStream
from headrace.server.runs.broadcast import MAX_BUFFER_BYTES, Broadcast
from headrace.server.runs.log_replay import Replay
from headrace.server.sse import HEARTBEAT, START, FrameEncoder, FrameId
from tests.memory import resident_kb
from tests.server.serving import Served, frames, scripted, served

# 500 in `make soak`.
CLIENTS = int(os.environ.get("HEADRACE_SOAK_CLIENTS", "40"))
WORD = "w" * 20_000
LONG = " ".join([WORD] * 500)
# More than the kernel holds between a server and a client that does not read.
LARGE = turn(say(LONG))
BESIDE = turn(say(" ".join(f"word-{n}" for n in range(60))), pace_s=0.005)


def asks_and_never_reads(server: Served) -> socket.socket:
    return _asks(server, "POST /api/chat", json.dumps({"message": "Go."}))


def _asks(server: Served, request: str, body: str = "") -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    peer.connect((host, int(port)))
    peer.setblocking(False)
    peer.sendall(
        f"{request} HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}".encode()
    )
    return peer


def open_sockets() -> int:
    """Not the files: a reader of the database may come later, and stay."""
    found = 0
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found += os.readlink(f"/proc/self/fd/{number}").startswith("socket:")
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
def test_a_client_that_never_reads_is_let_go_and_its_run_ends_without_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(LARGE), tmp_path, send_timeout_s=0.4) as server:
            await server.ask("Warm up.")
            await server.idle()
            before = open_sockets()
            deaf = [asks_and_never_reads(server) for _ in range(3)]
            await until(lambda: server.service.runs.total == 4)
            await server.idle()  # the runs wait for nobody
            # Their own ends are left; those of the server are gone.
            await until(lambda: open_sockets() <= before + len(deaf))
            for peer in deaf:
                peer.close()

    asyncio.run(main())


def test_a_good_client_notices_nothing_of_deaf_ones(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(BESIDE), tmp_path, send_timeout_s=0.3) as server:
            _, _, alone = await server.ask("Read.")
            deaf = [asks_and_never_reads(server) for _ in range(5)]
            _, _, beside = await server.ask("Read.")
            assert len(frames(alone)) == len(frames(beside))
            for peer in deaf:
                peer.close()

    asyncio.run(main())


def test_a_client_that_reads_late_gets_every_byte(tmp_path: Path) -> None:
    """It is behind by more than is kept, so that it gets the rest from the log."""

    async def main() -> None:
        async with served(scripted(LARGE), tmp_path, send_timeout_s=20) as server:
            peer = asks_and_never_reads(server)
            await until(lambda: server.service.runs.total == 1)
            await server.idle()
            data = await _all(peer)
            head, _, body = data.partition(b"\r\n\r\n")
            event_id = head.partition(b"x-event-id: ")[2].partition(b"\r\n")[0].decode()
            async with server.resume(event_id, protocol="ux") as response:
                assert _unchunked(body) == await response.read()

    asyncio.run(main())


async def _all(peer: socket.socket) -> bytes:
    loop, data = asyncio.get_running_loop(), bytearray()
    while not data.endswith(b"0\r\n\r\n"):
        read = await loop.sock_recv(peer, 1_000_000)
        assert read, "the server hung up"
        data += read
    peer.close()
    return bytes(data)


def _unchunked(data: bytes) -> bytes:
    whole = bytearray()
    while data:
        size, _, data = data.partition(b"\r\n")
        whole += data[: int(size, 16)]
        data = data[int(size, 16) + 2 :]
    return bytes(whole)


async def until(is_so: Any, within_s: float = 60.0) -> None:
    by_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < by_s
        await asyncio.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
@pytest.mark.timeout(120 + CLIENTS)
def test_t19_clients_that_never_read_take_little_hold_up_nobody_and_are_let_go(
    tmp_path: Path, record_property: Any
) -> None:
    """All of them watch one long answer that is being written, and so does one that reads."""

    async def main() -> None:
        agent = scripted(turn(say(LONG), pace_s=0.01))
        async with served(agent, tmp_path, send_timeout_s=1.0) as server:
            # What one that reads, and the run, need for ten million characters is there already.
            await server.ask("Warm up.", protocol="ux")
            sockets, before_kb = open_sockets(), resident_kb()
            async with server.open("Go.", protocol="ux") as good:
                path = f"/api/chat/{good.headers['x-event-id']}/stream"
                deaf = [_asks(server, f"GET {path}") for _ in range(CLIENTS)]
                whole = await good.read()
            most_kb = resident_kb() - before_kb
            assert json.loads(frames(whole)[-1][1])["type"] == "message_final"
            await until(lambda: open_sockets() <= sockets + CLIENTS, within_s=30 + CLIENTS / 10)
            for peer in deaf:
                peer.close()
        told = f"{CLIENTS} clients never read an answer of 10 MB: {most_kb / 1024:.0f} MB more"
        record_property("summary", f"T19: {told}")
        # Where each held the answer, it would be ten times as much; the first is the machine's.
        assert most_kb < 65_536 + 256 * CLIENTS

    asyncio.run(main())


# --- the bounds themselves -------------------------------------------------------------


def _unchanged(frame: Any) -> bytes:
    return bytes(frame)


class Words(FrameEncoder):
    """An encoder that shows the text of a record."""

    def __init__(self) -> None:
        self._project, self._encode, self._suffix = self._words, _unchanged, b""
        self._frame_type = None

    def _words(self, record: Record) -> list[bytes]:
        assert isinstance(record.event, TextDelta)
        return [record.event.text.encode()]


def told(count: int, size: int = 1_000) -> list[Record]:
    return [Record(seq, 0, TextDelta(0, "w" * size)) for seq in range(1, count + 1)]


def test_what_is_kept_for_slow_watchers_is_bounded_and_none_of_them_loses_a_frame() -> None:
    async def main() -> None:
        records = told(3_000)
        whole = [frame for record in records for frame in Words().feed(record)]

        logged: list[Record] = []

        def open_replay(after: FrameId) -> Replay:
            return Replay(_pages(logged), Words(), after)

        broadcast = Broadcast(open_replay, Words())
        slow, quick = broadcast.subscribe(START), broadcast.subscribe(START)
        read: list[bytes] = []
        for record in records:
            logged.append(record)
            broadcast.feed([record])
            assert broadcast.buffered_bytes <= MAX_BUFFER_BYTES
            read += await anext(quick)
        broadcast.close()
        assert read == whole
        assert [frame async for batch in slow for frame in batch] == whole

    asyncio.run(main())


def test_nothing_is_kept_that_everybody_has() -> None:
    async def main() -> None:
        def open_replay(after: FrameId) -> Replay:
            raise AssertionError

        broadcast = Broadcast(open_replay, Words())
        watch = broadcast.subscribe(START)
        for record in told(1_000, size=100):
            broadcast.feed([record])
            await anext(watch)
        assert broadcast.buffered_bytes < 16_384

    asyncio.run(main())


async def _pages(records: list[Record]) -> AsyncGenerator[list[Record], None]:
    for start in range(0, len(records), 100):
        yield records[start : start + 100]


def test_a_client_that_is_gone_before_the_first_byte_leaves_no_watcher() -> None:
    async def main() -> None:
        def open_replay(after: FrameId) -> Replay:
            raise AssertionError

        async def send(message: Any) -> None:
            raise OSError("gone")

        async def receive() -> Any:
            await asyncio.sleep(60)

        broadcast = Broadcast(open_replay, Words())
        stream = EventStream(broadcast.subscribe(START), heartbeat_s=15, send_timeout_s=30)
        with pytest.raises(OSError, match="gone"):
            await stream({}, receive, send)
        # Nobody is there for whom more would be kept.
        broadcast.feed(told(100))
        assert broadcast.buffered_bytes < 4_096

    asyncio.run(main())


class _Cycle:
    """A request of uvicorn whose client has gone."""

    disconnected = True

    def __init__(self) -> None:
        self.flow = SimpleNamespace(resume_reading=lambda: None)
        protocol = SimpleNamespace(client_state=ClientState("", 0.0))
        self.transport = SimpleNamespace(get_protocol=lambda: protocol)

    async def receive(self) -> Any:
        raise AssertionError


def test_a_short_stream_to_a_client_that_is_gone_cancels_nothing_later() -> None:
    async def main() -> None:
        async def one() -> Any:
            yield [b"a"]

        async def send(message: Any) -> None:
            pass

        await EventStream(one(), heartbeat_s=15, send_timeout_s=30)({}, _Cycle().receive, send)
        # What the server still has to do for the request, such as its log.
        await asyncio.sleep(0)

    asyncio.run(main())


def test_no_piece_that_is_sent_is_large() -> None:
    async def main() -> None:
        sent: list[bytes] = []

        async def one() -> Any:
            yield [b"a" * 1_000_000, b"b"]

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))

        async def receive() -> Any:
            await asyncio.sleep(60)

        await EventStream(one(), heartbeat_s=15, send_timeout_s=30)({}, receive, send)
        assert b"".join(sent) == b"a" * 1_000_000 + b"b"
        assert max(map(len, sent)) <= 65_536

    asyncio.run(main())


class _Narrow:
    """A server's end that takes one large piece at a time, as uvicorn's does."""

    def __init__(self) -> None:
        self.sent = b""
        self._is_writable = asyncio.Event()
        self._is_writable.set()

    async def send(self, message: Any) -> None:
        await self._is_writable.wait()
        self.sent += message.get("body", b"")
        if len(message.get("body", b"")) > 1_000:
            self._is_writable.clear()
            asyncio.get_running_loop().call_later(0.01, self._is_writable.set)

    async def receive(self) -> Any:
        await asyncio.sleep(60)


@pytest.mark.parametrize("is_stuck", [False, True])
def test_a_heartbeat_never_stands_inside_a_frame(is_stuck: bool) -> None:
    """The frame comes in the very turn of the loop in which the heartbeat falls due, or while
    the heartbeat waits for a client that does not read."""
    large = b"id: 1.1\ndata: " + b"x" * 200_000 + b"\n\n"

    async def main() -> None:
        narrow, comes = _Narrow(), asyncio.Event()

        async def one() -> Any:
            await comes.wait()
            yield [large]

        class Stream(EventStream):
            def _check_client(self, *args: Any) -> None:
                is_due = loop.time() >= self._sent_at_s + self._heartbeat_s
                if is_due and is_stuck:
                    narrow._is_writable.clear()
                    loop.call_later(0.01, comes.set)
                    loop.call_later(0.03, narrow._is_writable.set)
                elif is_due:
                    comes.set()
                super()._check_client(*args)

        loop = asyncio.get_running_loop()
        stream = Stream(one(), heartbeat_s=0.05, send_timeout_s=30)
        await stream({}, narrow.receive, narrow.send)
        assert narrow.sent.replace(HEARTBEAT, b"") == large
        assert large in narrow.sent

    asyncio.run(main())


def test_a_silent_stream_beats_and_a_client_that_is_stuck_is_cancelled() -> None:
    async def main() -> None:
        sent: list[bytes] = []
        is_stuck = asyncio.Event()

        async def silent() -> Any:
            yield [b"first"]
            await asyncio.sleep(0.12)
            is_stuck.set()
            yield [b"second"]

        async def send(message: Any) -> None:
            if is_stuck.is_set():
                await asyncio.sleep(60)
            sent.append(message.get("body", b""))

        async def receive() -> Any:
            await asyncio.sleep(60)

        began_s = time.monotonic()
        await EventStream(silent(), heartbeat_s=0.05, send_timeout_s=0.1)({}, receive, send)
        assert time.monotonic() - began_s < 50
        assert sent[:3] == [b"", b"first", b": \n\n"]
        assert b"second" not in sent

    asyncio.run(main())
