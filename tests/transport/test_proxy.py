"""The recording proxy: everything through as it is, and nothing to anybody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headrace.errors import UsageError
from headrace.recording.exchange_recorder import ExchangeRecorder, RecordingFolder
from headrace.recording.file import load_recording
from headrace.recording.proxy import Proxy
from tests.transport.upstream import (
    END,
    KEY,
    Peer,
    answering,
    chunked,
    head,
    stalling,
    upstream,
    whole,
)

BODY = b'{"model": "m",\t"n": 1e3}'


class Recorder(NamedTuple):
    """A proxy that runs, and what it said."""

    port: int
    tapes: list[ExchangeRecorder]
    complaints: list[str]
    folder: Path


@asynccontextmanager
async def recording(address: str, folder: Path) -> AsyncIterator[Recorder]:
    tapes: list[ExchangeRecorder] = []
    complaints: list[str] = []
    shelf = RecordingFolder(folder, hide=lambda value: value)
    proxy = Proxy(address, shelf, on_exchange=tapes.append, on_refused=complaints.append)
    port = await proxy.start()
    try:
        yield Recorder(port, tapes, complaints, folder)
    finally:
        await proxy.aclose()


def asked(port: int, *lines: str, target: str = "/v1/x", method: str = "POST") -> bytes:
    """A request as a client writes it."""
    told = [
        f"{method} {target} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {KEY}",
    ]
    told += ["X-Odd:  Two  Words", f"Content-Length: {len(BODY)}", *lines]
    return ("\r\n".join(told) + "\r\n\r\n").encode() + BODY


async def said(port: int, request: bytes) -> bytes:
    """All that comes back, until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def run(tmp_path: Path, answer: Any, play: Callable[[Recorder, Any], Awaitable[None]]) -> Recorder:
    async def staged() -> Recorder:
        async with upstream(answer) as server:
            origin = server.url.removesuffix("/v1/x")
            async with recording(origin, tmp_path) as recorder:
                await play(recorder, server)
        return recorder

    return asyncio.run(staged())


def test_a_request_goes_through_byte_for_byte(tmp_path: Path) -> None:
    async def play(recorder: Recorder, server: Any) -> None:
        target = "/v1/%7Ex%2fy//z?b=%20&a=+%2B&key=1"
        sent = asked(recorder.port, "Connection: close", target=target)
        answer = await said(recorder.port, sent)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        (peer,) = server.peers
        start, _, body = peer.request.partition(b"\r\n\r\n")
        lines = start.split(b"\r\n")
        assert lines[0] == f"POST {target} HTTP/1.1".encode()
        assert body == BODY
        assert b"Authorization: Bearer " + KEY.encode() in lines
        assert b"X-Odd: Two  Words" in lines
        assert b"Accept-Encoding: identity" in lines
        assert f"Host: 127.0.0.1:{server.port}".encode() in lines
        assert not [line for line in lines if line.lower().startswith((b"user-agent", b"accept:"))]

    run(tmp_path, answering(whole("200 OK", b"{}")), play)


def test_an_answer_streams_through_and_onto_tape(tmp_path: Path) -> None:
    pieces = [b"data: 1\n\n", b"data: 2\n", b"\n", b"data: [DONE]\n\n"]

    async def answer(peer: Peer) -> None:
        await peer.send(head("200 Fine", "text/event-stream", "X-Request-Id: r1"))
        for piece in pieces:
            await peer.send(chunked(piece))
            await asyncio.sleep(0.03)
        await peer.send(END)

    async def play(recorder: Recorder, server: Any) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", recorder.port)
        writer.write(asked(recorder.port, "Connection: close"))
        start = await reader.readuntil(b"\r\n\r\n")
        assert start.startswith(b"HTTP/1.1 200 Fine\r\n")
        assert b"X-Request-Id: r1\r\n" in start
        # The first piece is here before the last one is sent.
        assert await reader.readuntil(b"data: 1\n\n")
        assert not recorder.tapes
        rest = await reader.read()
        assert rest.endswith(END)
        writer.close()

    recorder = run(tmp_path, answer, play)
    (tape,) = recorder.tapes
    assert (tape.status, tape.ended, tape.name) == (200, "whole", "001-x.sse")
    file = tmp_path / "001-x.sse"
    assert file.read_bytes() == b"".join(pieces)
    listed = load_recording(file)
    assert sum(listed.lens) == sum(map(len, pieces))
    assert listed.ms is not None
    assert 50 < sum(listed.ms[1:]) < 5_000


@pytest.mark.parametrize("status", ["401 Unauthorized", "429 Slow Down", "500 Oops", "302 Found"])
def test_errors_and_redirects_are_handed_on_and_not_followed(status: str, tmp_path: Path) -> None:
    body = b'{"error": {"message": "no"}}'
    answer = answering(whole(status, body, "Location: http://203.0.113.9/elsewhere"))

    async def play(recorder: Recorder, server: Any) -> None:
        shown = await said(recorder.port, asked(recorder.port, "Connection: close"))
        assert shown.startswith(f"HTTP/1.1 {status}\r\n".encode())
        assert b"Location: http://203.0.113.9/elsewhere\r\n" in shown
        assert shown.endswith(body)
        assert len(server.peers) == 1

    recorder = run(tmp_path, answer, play)
    assert (tmp_path / "001-x.json").read_bytes() == body
    assert recorder.tapes[0].status == int(status[:3])


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        ("http://203.0.113.9/v1/x", []),
        ("http://127.0.0.1:1/v1/x", []),
        ("203.0.113.9:443", []),
        ("/v1/x", ["Host: evil.example"]),
        ("/v1/x", ["Host: 0.0.0.0"]),
        ("/v1/x", ["Origin: https://evil.example"]),
        ("/v1/x", ["Origin: null"]),
        ("/v1/x", ["Connection: upgrade", "Upgrade: websocket"]),
    ],
)
def test_whom_it_is_not_for_is_refused(target: str, lines: list[str], tmp_path: Path) -> None:
    async def play(recorder: Recorder, server: Any) -> None:
        sent = asked(recorder.port, "Connection: close", *lines, target=target)
        if lines and lines[0].startswith("Host"):
            sent = sent.replace(f"Host: 127.0.0.1:{recorder.port}\r\n".encode(), b"", 1)
        shown = await said(recorder.port, sent)
        assert shown.startswith((b"HTTP/1.1 403", b"HTTP/1.0 400"))
        assert server.peers == []

    recorder = run(tmp_path, answering(whole("200 OK", b"{}")), play)
    assert recorder.tapes == []
    assert list(tmp_path.iterdir()) == []


def test_a_request_that_is_none_is_not_logged_with_its_key(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def play(recorder: Recorder, server: Any) -> None:
        sent = f"POST / HTTP/1.1\r\nAuthorization: {KEY}\r\n{KEY}\0\r\n\r\n"
        shown = await said(recorder.port, sent.encode())
        assert b" 400 " in shown
        assert server.peers == []

    run(tmp_path, answering(whole("200 OK", b"{}")), play)
    assert KEY not in "".join(capfd.readouterr())


def test_a_path_cannot_name_another_host(tmp_path: Path) -> None:
    async def play(recorder: Recorder, server: Any) -> None:
        for target in ("//203.0.113.9/x", "/@203.0.113.9/x", "/..//x"):
            await said(recorder.port, asked(recorder.port, "Connection: close", target=target))
        assert len(server.peers) == 3
        assert server.peers[0].request.startswith(b"POST //203.0.113.9/x HTTP/1.1")

    run(tmp_path, answering(whole("200 OK", b"{}")), play)


def test_an_upstream_that_is_not_there_is_said_to_both(tmp_path: Path) -> None:
    async def play() -> Recorder:
        async with recording("http://127.0.0.1:1", tmp_path) as recorder:
            shown = await said(recorder.port, asked(recorder.port, "Connection: close"))
            assert shown.startswith(b"HTTP/1.1 502")
            assert b"cannot be reached" in shown
            assert KEY.encode() not in shown
        return recorder

    recorder = asyncio.run(play())
    assert len(recorder.complaints) == 1
    assert KEY not in recorder.complaints[0]
    assert recorder.tapes == []


def test_an_answer_that_breaks_off_breaks_off_for_the_client_too(tmp_path: Path) -> None:
    async def answer(peer: Peer) -> None:
        await peer.send(head(), chunked(b"data: half\n\n"))
        await asyncio.sleep(0.05)
        await peer.send(chunked(b"data: last\n\n"))
        peer.reset()

    async def play(recorder: Recorder, server: Any) -> None:
        shown = await said(recorder.port, asked(recorder.port, "Connection: close"))
        assert not shown.endswith(END)

    recorder = run(tmp_path, answer, play)
    assert recorder.tapes[0].ended.startswith("broken off: ")
    assert (tmp_path / "001-x.sse").read_bytes().startswith(b"data: half\n\n")


def test_a_client_that_leaves_ends_the_request_and_keeps_what_came(tmp_path: Path) -> None:
    async def answer(peer: Peer) -> None:
        await peer.send(head(), chunked(b"data: half\n\n"))
        await peer.wait_gone()

    async def play(recorder: Recorder, server: Any) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", recorder.port)
        writer.write(asked(recorder.port))
        await reader.readuntil(b"half")
        writer.close()
        await asyncio.wait_for(server.peers[0].gone.wait(), 10)
        while not recorder.tapes:
            await asyncio.sleep(0.01)

    recorder = run(tmp_path, answer, play)
    assert recorder.tapes[0].ended == "the client left"
    assert (tmp_path / "001-x.sse").read_bytes() == b"data: half\n\n"
    assert (tmp_path / "001-x.sse.chunks.json").exists()


def test_stopping_cuts_what_goes_on_and_keeps_it(tmp_path: Path) -> None:
    async def answer(peer: Peer) -> None:
        await peer.send(head(), chunked(b"data: half\n\n"))
        await peer.wait_gone()

    async def play() -> Recorder:
        async with upstream(answer) as server:
            origin = server.url.removesuffix("/v1/x")
            async with recording(origin, tmp_path) as recorder:
                reader, writer = await asyncio.open_connection("127.0.0.1", recorder.port)
                writer.write(asked(recorder.port))
                await reader.readuntil(b"half")
            writer.close()
        return recorder

    recorder = asyncio.run(play())
    assert recorder.tapes[0].ended == "the recording was stopped"
    assert (tmp_path / "001-x.sse.request.json").exists()


def test_a_silent_upstream_is_waited_for_until_the_client_leaves(tmp_path: Path) -> None:
    async def play(recorder: Recorder, server: Any) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", recorder.port)
        writer.write(asked(recorder.port))
        while not server.peers:
            await asyncio.sleep(0.01)
        writer.close()
        await asyncio.wait_for(server.peers[0].gone.wait(), 10)

    assert run(tmp_path, stalling, play).tapes == []


def test_large_bodies_that_wait_for_leave_get_it(tmp_path: Path) -> None:
    async def play(recorder: Recorder, server: Any) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", recorder.port)
        sent = asked(recorder.port, "Expect: 100-continue", "Connection: close")
        writer.write(sent.removesuffix(BODY))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(BODY)
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
        writer.close()
        assert server.peers[0].request.endswith(BODY)

    run(tmp_path, answering(whole("200 OK", b"{}")), play)


def test_a_port_that_is_taken_or_none_is_said(tmp_path: Path) -> None:
    async def play() -> None:
        async with recording("http://127.0.0.1:1", tmp_path) as recorder:
            for port in (recorder.port, 70_000):
                other = Proxy(
                    "http://127.0.0.1:1",
                    RecordingFolder(tmp_path, hide=lambda value: value),
                    on_exchange=lambda tape: None,
                    on_refused=lambda message: None,
                )
                with pytest.raises(UsageError, match="cannot listen on 127"):
                    await other.start(port)

    asyncio.run(play())
