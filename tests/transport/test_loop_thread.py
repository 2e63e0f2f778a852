"""The sync skin: whole reads from another thread, also where a loop is running."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
import traceback

import pytest

from headrace.errors import UsageError
from headrace.transport import LoopThread, shared_loop
from headrace.transport.http import HTTPTransport
from headrace.transport.loop_thread import MAX_READS_AHEAD
from headrace.turn.open_turn import read_turn
from headrace.wire.decoder import Decoder
from tests.transport.stream import STREAMS
from tests.transport.upstream import Peer, call_to, chunked, head, upstream
from tests.wire import events_of, single_bytes


@pytest.fixture
def loop():
    thread = LoopThread()
    yield thread
    thread.close()


class Source:
    """An async generator that tells what happens to it."""

    def __init__(self, reads: int = 10, pause_s: float = 0.0, error: Exception | None = None):
        self.given = 0
        self.closed = threading.Event()
        self._reads = reads
        self._pause_s = pause_s
        self._error = error

    async def lists(self):
        try:
            for number in range(self._reads):
                self.given = number + 1
                yield [number, number]
                await asyncio.sleep(self._pause_s)
            if self._error is not None:
                raise self._error
        finally:
            self.closed.set()


def test_whole_lists_come_in_order(loop):
    assert list(loop.iterate(Source(500).lists())) == [[n, n] for n in range(500)]


def test_run_gives_the_result_and_passes_the_error(loop):
    async def work(error=None):
        await asyncio.sleep(0)
        if error:
            raise error
        return threading.current_thread().name

    assert loop.run(work()) == "headrace"
    with pytest.raises(KeyError, match="odd") as caught:
        loop.run(work(KeyError("odd")))
    assert "in work" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_it_works_inside_a_running_loop(loop):
    async def notebook_cell():
        return list(loop.iterate(Source(5).lists()))

    assert asyncio.run(notebook_cell()) == [[n, n] for n in range(5)]


def test_an_error_comes_after_what_was_read_with_its_traceback(loop):
    reads = loop.iterate(Source(3, error=ValueError("odd")).lists())
    assert [next(reads) for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]
    with pytest.raises(ValueError, match="odd") as caught:
        next(reads)
    assert "in lists" in "".join(traceback.format_tb(caught.value.__traceback__))
    with pytest.raises(StopIteration):
        next(reads)


def test_a_slow_consumer_holds_the_source_back(loop):
    source = Source(1_000)
    with loop.iterate(source.lists()) as reads:
        next(reads)
        time.sleep(0.1)
        assert source.given <= MAX_READS_AHEAD + 2
        assert len(list(reads)) == 999


@pytest.mark.parametrize("reads", [0, 1])
def test_closing_early_closes_the_source(loop, reads):
    source = Source(1_000, pause_s=0.01)
    iterator = loop.iterate(source.lists())
    for _ in range(reads):
        next(iterator)
    iterator.close()
    assert source.given < 100
    assert source.closed.is_set() or source.given == 0
    assert list(iterator) == []
    iterator.close()


def test_an_iterator_that_nobody_holds_closes_its_source(loop):
    source = Source(1_000, pause_s=0.01)
    for _ in loop.iterate(source.lists()):
        break
    gc.collect()
    assert source.closed.wait(1)


INTERRUPTED = """
import asyncio, os, signal, threading
from headrace.transport import shared_loop

async def lists():
    try:
        yield [1]
        await asyncio.sleep(30)
    finally:
        print("closed")

signal.signal(signal.SIGINT, signal.default_int_handler)
reads = shared_loop().iterate(lists())
next(reads)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(reads)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_an_interrupt_closes_the_source_and_passes():
    command = [sys.executable, "-c", INTERRUPTED]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.split() == ["closed", "interrupted"]
    assert out.stderr == ""


def test_a_loop_that_is_closed_while_reading_does_not_look_like_an_end(loop):
    iterator = loop.iterate(Source(1_000, pause_s=0.01).lists())
    next(iterator)
    loop.close()
    with pytest.raises(UsageError, match="closed"):
        list(iterator)


def test_a_closed_loop_starts_again(loop):
    assert list(loop.iterate(Source(1).lists())) == [[0, 0]]
    loop.close()
    loop.close()
    assert list(loop.iterate(Source(1).lists())) == [[0, 0]]


def test_waiting_for_itself_is_a_usage_error(loop):
    async def work():
        loop.run(asyncio.sleep(0))

    with pytest.raises(UsageError, match="own thread"):
        loop.run(work())


def test_one_loop_is_shared():
    assert shared_loop() is shared_loop()
    assert shared_loop().run(asyncio.sleep(0, "done")) == "done"
    shared_loop().close()


def test_a_turn_over_a_socket_is_read_and_closed_from_a_plain_thread(loop, record_property):
    data = STREAMS["chat"].data

    async def answer(peer: Peer) -> None:
        await peer.send(head(), *map(chunked, single_bytes(data)[:-2]))
        await peer.wait_gone()

    async def start():
        context = upstream(answer)
        server = await context.__aenter__()
        transport = HTTPTransport()
        stream = await transport.open(call_to(server.url))
        return context, server, transport, read_turn(stream, Decoder("chat"))

    context, server, transport, turn = loop.run(start())
    iterator = loop.iterate(turn)
    events = next(iterator)
    assert events == events_of(data, "chat")[: len(events)]
    begun = time.perf_counter()
    iterator.close()
    loop.run(asyncio.wait_for(server.peers[0].gone.wait(), 20))
    took = time.perf_counter() - begun
    loop.run(transport.aclose())
    loop.run(context.__aexit__(None, None, None))
    record_property("summary", f"closing a sync iterator: seen after {took * 1000:.1f} ms")
