"""Whole turns over a stream: one end, whatever the network and the peer do."""

from __future__ import annotations

import asyncio
import gzip
import random
import time
import tracemalloc
from contextlib import aclosing, asynccontextmanager

import pytest

from headrace.errors import RequestFailed
from headrace.events.turn import TurnFailed, TurnFinished, TurnStarted
from headrace.outcome import ErrorInfo
from headrace.recording import ReplayTransport
from headrace.transport import HTTPLimits, RetryPolicy, Timeouts
from headrace.transport.http import HTTPTransport
from headrace.transport.limits import DEFAULT_HTTP_LIMITS
from headrace.turn.open_turn import OpenTurn, open_turn, read_turn
from headrace.wire.decoder import Decoder
from headrace.wire.limits import WireLimits
from tests.grammar import check_grammar
from tests.transport.drain import PATIENT, SHORT_FIRST_EVENT, SHORT_IDLE
from tests.transport.stream import STREAMS
from tests.transport.upstream import (
    END,
    Peer,
    answering,
    call_to,
    chunked,
    head,
    holding,
    upstream,
)
from tests.wire import chunk, events_of, kinds, sse

CHAT = STREAMS["chat"]
COMMENT = b": keep-alive\n\n"
FIRST = sse(chunk({"content": "a"}), done=False)


def events_over(*answers, decoder=None, timeouts=PATIENT, limits=DEFAULT_HTTP_LIMITS, within_s=90):
    """The events of one turn over a real socket."""

    async def run():
        events = []
        transport = HTTPTransport(timeouts=timeouts, limits=limits)
        async with upstream(*answers) as server, transport:
            stream = await transport.open(call_to(server.url))
            async for read in read_turn(stream, decoder or Decoder("chat")):
                assert read
                events += read
        return events

    return asyncio.run(asyncio.wait_for(run(), within_s))


def test_a_turn_over_a_socket_is_the_turn_of_its_bytes():
    for authored in STREAMS.values():
        decoder = Decoder(authored.dialect, framing=authored.framing)
        events = events_over(answering(head() + chunked(authored.data) + END), decoder=decoder)
        assert events == events_of(authored.data, authored.dialect, framing=authored.framing)
        assert isinstance(events[-1], TurnFinished)


# --- cuts -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_at_any_byte_never_looks_finished(name):
    authored = STREAMS[name]
    told_at = authored.data.index(authored.told) + len(authored.told)
    for cut in range(len(authored.data) + 1):
        events = events_of(authored.data[:cut], authored.dialect, framing=authored.framing)
        check_grammar(events)
        if cut < told_at:
            assert isinstance(events[-1], TurnFailed), cut
            assert events[-1].category == "incomplete"


@pytest.mark.parametrize("name", STREAMS)
def test_a_break_at_any_byte_ends_with_the_reason_of_the_break(name):
    authored = STREAMS[name]
    for cut in range(len(authored.data)):
        decoder = Decoder(authored.dialect, framing=authored.framing)
        events = decoder.feed(authored.data[:cut])
        events += decoder.fail(ErrorInfo("network", "gone", retryable=True))
        check_grammar(events)
        if authored.told not in authored.data[:cut]:
            assert isinstance(events[-1], TurnFailed)
            assert events[-1].category == "network"


@pytest.mark.parametrize("is_chunked", [True, False], ids=["chunked", "until closed"])
@pytest.mark.parametrize("name", ["chat", "anthropic"])
def test_cuts_over_a_real_socket_never_look_finished(name, is_chunked):
    authored = STREAMS[name]
    told_at = authored.data.index(authored.told) + len(authored.told)
    cuts = sorted(random.Random(7).sample(range(1, told_at), 20))

    async def run():
        at = iter(cuts)

        async def answer(peer: Peer) -> None:
            data = authored.data[: next(at)]
            body = b"%x\r\n%s" % (len(authored.data), data) if is_chunked else data
            await peer.send(head(chunked=is_chunked) + body)

        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as transport:
            for cut in cuts:
                stream = await transport.open(call_to(server.url))
                turn = read_turn(stream, Decoder(authored.dialect))
                yield cut, [event async for events in turn for event in events]

    async def check():
        async for cut, events in run():
            check_grammar(events)
            assert isinstance(events[-1], TurnFailed), cut
            assert events[-1].category == ("network" if is_chunked else "incomplete")
            assert events[-1].retryable

    asyncio.run(asyncio.wait_for(check(), 60))


# --- stalls ---------------------------------------------------------------------------


def test_keep_alive_comments_are_no_first_event():
    async def answer(peer: Peer) -> None:
        await peer.send(head())
        while True:
            await peer.chunk(COMMENT)
            await asyncio.sleep(0.02)

    begun = time.monotonic()
    events = events_over(answer, timeouts=SHORT_FIRST_EVENT)
    assert kinds(events) == ["TurnStarted", "TurnFailed"]
    assert events[-1].category == "timeout"
    assert "first_event_s" in events[-1].message
    assert time.monotonic() - begun > 0.2


def test_a_stall_after_the_first_event_is_the_last_event():
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(FIRST))
        await peer.wait_gone()

    events = events_over(answer, timeouts=SHORT_IDLE)
    check_grammar(events)
    assert events[-1].category == "timeout"
    assert "idle_s" in events[-1].message


def test_keep_alive_comments_keep_a_begun_turn_alive():
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(FIRST))
        for _ in range(12):
            await asyncio.sleep(0.2)
            await peer.chunk(COMMENT)
        await peer.send(chunked(sse(chunk({}, finish="stop"))) + END)

    assert isinstance(
        events_over(answer, timeouts=Timeouts(connect_s=60, first_event_s=60, idle_s=2))[-1],
        TurnFinished,
    )


# --- too much -------------------------------------------------------------------------


def endless(data: bytes, encoding: str = "identity", start: bytes = b""):
    async def answer(peer: Peer) -> None:
        lines = (f"Content-Encoding: {encoding}",)
        await peer.send(head("200 OK", "text/event-stream", *lines) + start)
        while True:
            await peer.chunk(data)
            await asyncio.sleep(0)

    return answer


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        (FIRST * 100, "max_total_bytes"),
        (b"x" * 65536, "max_line_bytes"),
        (b"data: x\n" * 8192, "max_frame_bytes"),
        (COMMENT * 4096, "max_total_bytes"),
    ],
    ids=["events", "line", "frame", "comments"],
)
def test_an_endless_stream_ends_at_a_named_limit(data, limit):
    limits = WireLimits(
        max_total_bytes=8 * 2**20, max_line_bytes=2**20, max_frame_bytes=2**20, max_parts=10**6
    )
    tracemalloc.start()
    try:
        decoder = Decoder("chat", wire_limits=limits, keeps_message=False)
        events = events_over(endless(data), decoder=decoder)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    check_grammar(events)
    assert events[-1].category == "protocol"
    assert limit in events[-1].message
    assert peak < 32 * 2**20


def test_a_gzip_bomb_ends_at_a_named_limit_and_is_never_in_memory(record_property):
    bomb = gzip.compress(COMMENT * (200 * 2**20 // len(COMMENT)), 9)
    answer = answering(
        head("200 OK", "text/event-stream", "Content-Encoding: gzip") + chunked(bomb) + END
    )
    begun = time.monotonic()
    tracemalloc.start()
    try:
        events = events_over(
            answer,
            decoder=Decoder("chat", keeps_message=False),
            timeouts=Timeouts(first_event_s=60),
            limits=HTTPLimits(max_inflated_bytes=8 * 2**20),
            within_s=60,
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    took = time.monotonic() - begun
    assert events[-1].category == "protocol"
    assert "max_inflated_bytes" in events[-1].message
    assert peak < 8 * 2**20
    told = f"{len(bomb) // 1024} KB of gzip that are 200 MB: {peak / 2**20:.1f} MB at most"
    record_property("summary", f"gzip bomb: {told}, {took:.1f} s")


# --- the end --------------------------------------------------------------------------


@asynccontextmanager
async def held(data):
    """A stream that stays open after these bytes, and the server's end of it."""
    async with upstream(holding(head() + chunked(data))) as server, HTTPTransport() as transport:
        stream = await transport.open(call_to(server.url))
        yield stream, server.peers[0]


def test_after_the_terminal_event_nothing_is_read_and_the_connection_is_closed():
    async def run():
        async with held(CHAT.data) as (stream, peer):
            events = [e async for read in read_turn(stream, Decoder("chat")) for e in read]
            assert isinstance(events[-1], TurnFinished)
            await asyncio.wait_for(peer.gone.wait(), 60)

    asyncio.run(run())


def test_stopping_early_closes_the_connection():
    async def run():
        async with held(FIRST) as (stream, peer):
            async with aclosing(read_turn(stream, Decoder("chat"))) as turn:
                assert kinds(await anext(turn))[0] == "TurnStarted"
            await asyncio.wait_for(peer.gone.wait(), 60)

    asyncio.run(run())


def test_a_turn_that_is_closed_while_it_is_read_ends_without_a_failure():
    async def run():
        async with held(FIRST) as (stream, _):
            turn = OpenTurn(stream, Decoder("chat"))
            assert kinds(await turn.next())[0] == "TurnStarted"
            reading = asyncio.ensure_future(turn.next())
            await asyncio.sleep(0.02)
            await turn.aclose()
            assert await reading == []
            assert await turn.next() == []
            assert turn.decoder.error is None

    asyncio.run(run())


def test_cancelling_a_reader_closes_the_connection():
    async def run():
        async with held(FIRST) as (stream, peer):
            has_begun = asyncio.Event()

            async def read():
                async for _ in read_turn(stream, Decoder("chat")):
                    has_begun.set()

            reading = asyncio.ensure_future(read())
            await has_begun.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await asyncio.wait_for(peer.gone.wait(), 60)

    asyncio.run(run())


# --- opening a turn: up to the first event --------------------------------------------


async def no_sleep(_: float) -> None:
    await asyncio.sleep(0)


def opened(*answers, attempts=3):
    """The events of a turn that is tried again, and how many connections there were."""

    async def run():
        async with upstream(*answers) as server, HTTPTransport(timeouts=PATIENT) as transport:
            turn = await open_turn(
                transport,
                call_to(server.url),
                lambda: Decoder("chat"),
                RetryPolicy(attempts=attempts),
                sleep=no_sleep,
            )
            async with aclosing(turn):
                return [e async for read in turn for e in read], len(server.peers)

    return asyncio.run(asyncio.wait_for(run(), 60))


GOOD = answering(head() + chunked(CHAT.data) + END)
OVERLOADED = b'data: {"error": {"message": "busy", "type": "overloaded_error"}}\n\n'
PAGE = b"<html>\n<title>502 Bad Gateway</title>\n</html>\n"
INVALID = b'data: {"error": {"message": "no", "type": "invalid_request_error"}}\n\n'


@pytest.mark.parametrize(
    "bad",
    [
        head() + chunked(COMMENT),
        head() + chunked(COMMENT) + END,
        head() + chunked(FIRST[:20]),
        head() + chunked(OVERLOADED) + END,
        head() + chunked(COMMENT) + chunked(OVERLOADED) + END,
        head() + chunked(PAGE) + END,
        head() + chunked(b"data: {broken\n\n") + chunked(OVERLOADED) + END,
    ],
    ids=[
        "cut",
        "only a comment",
        "half an event",
        "in band",
        "comment and in band",
        "page",
        "unreadable frame and in band",
    ],
)
def test_what_fails_before_the_first_event_is_tried_again(bad):
    events, connections = opened(answering(bad), GOOD)
    assert events == events_of(CHAT.data, "chat")
    assert connections == 2
    with pytest.raises(RequestFailed) as caught:
        opened(answering(bad))
    assert caught.value.retryable


def test_a_turn_that_has_begun_is_never_tried_again():
    events, connections = opened(answering(head() + chunked(FIRST)), GOOD)
    assert isinstance(events[0], TurnStarted)
    assert events[-1].category == "network"
    assert connections == 1


def test_a_refusal_that_stays_is_told_as_the_stream_tells_it():
    events, connections = opened(answering(head() + chunked(INVALID) + END), GOOD)
    assert kinds(events) == ["TurnStarted", "TurnFailed"]
    assert events[-1].category == "invalid_request"
    assert connections == 1


def test_a_turn_can_be_opened_over_any_transport():
    async def run():
        transport = ReplayTransport([CHAT.data])
        turn = await open_turn(transport, call_to("http://h/"), lambda: Decoder("chat"))
        return [event async for events in turn for event in events]

    assert asyncio.run(run()) == events_of(CHAT.data, "chat")
