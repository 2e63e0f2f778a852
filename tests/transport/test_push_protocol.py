"""Reads that the socket pushes: all of them once, with pauses, at once, and with one end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.transport.body.push_protocol import PushProtocol
from headrace.transport.http import HTTPTransport
from tests.transport.drain import PATIENT
from tests.transport.upstream import END, Peer, call_to, chunked, head, read_request, upstream


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, 90))


async def opened(transport: HTTPTransport, server: Any) -> Any:
    return await transport.open(call_to(server.url))


def test_a_read_is_taken_inside_the_callback_of_the_socket(monkeypatch: pytest.MonkeyPatch):
    is_receiving = False
    receive = PushProtocol.data_received

    def data_received(self: PushProtocol, data: bytes) -> None:
        nonlocal is_receiving
        is_receiving = True
        receive(self, data)
        is_receiving = False

    monkeypatch.setattr(PushProtocol, "data_received", data_received)
    go_on = asyncio.Semaphore(0)

    async def answer(peer: Peer) -> None:
        await peer.send(head())
        for number in range(5):
            await peer.chunk(b"event %d" % number)
            await go_on.acquire()
        await peer.send(END)

    async def main() -> list[tuple[bytes, bool]]:
        reads: list[tuple[bytes, bool]] = []

        def take(read: bytes) -> bool:
            reads.append((read, is_receiving))
            go_on.release()
            return False

        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            stream = await opened(transport, server)
            assert await stream.drain(take) is False
        return reads

    reads = run(main())
    assert [read for read, _ in reads] == [b"event %d" % number for number in range(5)]
    assert [is_pushed for _, is_pushed in reads[1:]] == [True] * 4


def test_nothing_is_lost_between_pauses():
    async def answer(peer: Peer) -> None:
        await peer.send(head())
        for number in range(2_000):
            await peer.chunk(b"%04d " % number)
        await peer.send(END)

    async def main() -> bytes:
        reads: list[bytes] = []

        def take(read: bytes) -> bool:
            reads.append(read)
            return True

        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            stream = await opened(transport, server)
            while await stream.drain(take):
                await asyncio.sleep(0)
        return b"".join(reads)

    assert run(main()) == b"".join(b"%04d " % number for number in range(2_000))


def test_the_server_waits_for_a_reader_that_pauses():
    sent = 0

    async def answer(peer: Peer) -> None:
        nonlocal sent
        await peer.send(head())
        while True:
            await peer.chunk(b"x" * 65_536)
            sent += 65_536

    async def main() -> int:
        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            stream = await opened(transport, server)
            assert await stream.drain(lambda _: True)
            before = -1
            while before != sent:
                before = sent
                await asyncio.sleep(0.2)
            await stream.aclose()
        return sent

    # The buffers of both sockets, and of aiohttp.
    assert run(main()) < 32_000_000


def test_a_connection_is_used_again_after_a_body_that_was_pushed():
    async def answer(peer: Peer) -> None:
        for _ in range(3):
            await peer.send(head())
            await peer.chunk(b"first ")
            await asyncio.sleep(0)
            await peer.send(chunked(b"second") + END)
            peer.request = await read_request(peer.reader)

    async def main() -> tuple[list[bytes], int]:
        bodies: list[bytes] = []
        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            for _ in range(3):
                reads: list[bytes] = []
                stream = await opened(transport, server)
                await stream.drain(reads.append)
                bodies.append(b"".join(reads))
            return bodies, len(server.peers)

    assert run(main()) == ([b"first second"] * 3, 1)


def test_a_connection_with_more_bytes_than_the_body_is_not_used_again():
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"body") + END + b"HTTP/1.1 200 OK\r\n")
        await peer.wait_gone()

    async def main() -> int:
        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            for _ in range(2):
                reads: list[bytes] = []
                stream = await opened(transport, server)
                await stream.drain(reads.append)
                assert reads == [b"body"]
            return len(server.peers)

    assert run(main()) == 2


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_any_cut_of_head_and_body_gives_the_same(step: int, ends: str):
    """Also after an informational response, and with line ends that are not quite HTTP's."""
    early = "HTTP/1.1 103 Early Hints\nlink: </a>\n\n".replace("\n", ends).encode()
    told = "HTTP/1.1 200 OK\ntransfer-encoding: chunked\nx-request-id: r1\n\n".replace("\n", ends)
    body = chunked(b"one\r\n\r\n") + chunked(b"two") + END

    async def answer(peer: Peer) -> None:
        wire = early + told.encode() + body
        for at in range(0, len(wire), step):
            await peer.send(wire[at : at + step])
            await asyncio.sleep(0)

    async def main() -> tuple[bytes, str | None]:
        reads: list[bytes] = []
        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            stream = await opened(transport, server)
            await stream.drain(reads.append)
            return b"".join(reads), stream.request_id

    assert run(main()) == (b"one\r\n\r\ntwo", "r1")


def test_an_error_of_the_reader_is_raised_where_it_reads():
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"first"))
        await has_begun.wait()
        await peer.chunk(b"second")
        await peer.wait_gone()

    has_begun = asyncio.Event()

    def take(read: bytes) -> bool:
        has_begun.set()
        if read == b"second":
            raise ValueError(read)
        return False

    async def main() -> None:
        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            stream = await opened(transport, server)
            with pytest.raises(ValueError, match="second"):
                await stream.drain(take)
            await stream.aclose()

    run(main())


def test_closing_ends_a_reader_that_waits():
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"first"))
        await peer.wait_gone()

    async def main() -> bool:
        has_begun = asyncio.Event()

        def take(_: bytes) -> bool:
            has_begun.set()
            return False

        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            stream = await opened(transport, server)
            reading = asyncio.ensure_future(stream.drain(take))
            await has_begun.wait()
            await asyncio.sleep(0)
            await stream.aclose()
            is_paused = await reading
            await server.peers[0].gone.wait()
        return is_paused

    assert run(main()) is False


def test_a_cancelled_reader_can_be_continued():
    go_on = asyncio.Event()

    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"first "))
        await go_on.wait()
        await peer.send(chunked(b"second") + END)

    async def main() -> bytes:
        reads: list[bytes] = []
        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            stream = await opened(transport, server)
            reading = asyncio.ensure_future(stream.drain(reads.append))
            while not reads:
                await asyncio.sleep(0)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            go_on.set()
            await stream.drain(reads.append)
        return b"".join(reads)

    assert run(main()) == b"first second"
