"""A server that closes its connection after a stream costs the next turn nothing (F7)."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headrace.errors import RequestFailed
from headrace.transport.http import HTTPTransport
from tests.transport.drain import PATIENT, drained
from tests.transport.upstream import END, call_to, chunked, head

TURNS = 120


@contextmanager
def closing_server(*, answers: int | None = None) -> Iterator[tuple[str, list[int]]]:
    """A server in a thread that says keep-alive, and closes after each answer all the same.

    With `answers` it closes later connections without an answer.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    served: list[int] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                data = b""
                while b'"model"' not in data and (read := peer.recv(65536)):
                    data += read
                if data and (answers is None or len(served) < answers):
                    served.append(len(data))
                    peer.sendall(head() + chunked(b"data: x\n\n") + END)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/x", served
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_many_turns_on_one_transport_meet_no_error():
    async def run(url: str) -> None:
        async with HTTPTransport(timeouts=PATIENT) as transport:
            for _ in range(TURNS):
                reads, error = await drained(await transport.open(call_to(url)))
                assert (b"".join(reads), error) == (b"data: x\n\n", None)

    with closing_server() as (url, served):
        asyncio.run(asyncio.wait_for(run(url), 90))
    assert len(served) == TURNS


def test_a_new_connection_that_is_closed_without_an_answer_is_an_error():
    async def run(url: str) -> None:
        async with HTTPTransport(timeouts=PATIENT) as transport:
            await drained(await transport.open(call_to(url)))
            await transport.open(call_to(url))

    with closing_server(answers=1) as (url, _), pytest.raises(RequestFailed) as caught:
        asyncio.run(asyncio.wait_for(run(url), 90))
    assert caught.value.category == "network"
