"""HTTP over real sockets: what comes, what fails, how long it takes, and when it is closed."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import time

import pytest

from headrace.errors import RequestFailed, UsageError
from headrace.transport import Timeouts
from headrace.transport.http import HTTPTransport
from tests.transport.drain import (
    PATIENT,
    SHORT_FIRST_EVENT,
    SHORT_IDLE,
    drained,
    failed_with,
    pushed,
    reads_of,
)
from tests.transport.upstream import (
    END,
    KEY,
    Peer,
    answering,
    call_to,
    chunked,
    head,
    stalling,
    upstream,
    whole,
)


def test_the_call_goes_out_as_it_is_and_asks_for_identity():
    async def run():
        async with upstream(answering(head() + chunked(b"x") + END)) as server:
            async with HTTPTransport() as transport:
                call = call_to(server.url + "?alt=sse", b'{"a":1}')
                call.headers["Accept-Encoding"] = "gzip"
                stream = await transport.open(call)
                assert [read async for read in stream] == [b"x"]
            return server.peers[0].request

    request = asyncio.run(run())
    assert request.startswith(b"POST /v1/x?alt=sse HTTP/1.1\r\n")
    assert request.endswith(b'\r\n\r\n{"a":1}')
    assert request.lower().count(b"accept-encoding: identity") == 1
    assert b"gzip" not in request
    assert f"Bearer {KEY}".encode() in request


def test_reads_are_handed_over_as_they_come():
    async def answer(peer: Peer) -> None:
        await peer.send(head())
        for number in range(5):
            await peer.chunk(b"event %d" % number)
            await asyncio.sleep(0.01)
        await peer.send(END)

    reads, failure = reads_of(answer)
    assert reads == [b"event %d" % number for number in range(5)]
    assert failure is None


def test_the_request_id_is_kept():
    async def run():
        start = head("200 OK", "text/event-stream", "x-request-id: req_1")
        answer = answering(start + chunked(b"x") + END)
        async with upstream(answer) as server, HTTPTransport() as transport:
            stream = await transport.open(call_to(server.url))
            await stream.aclose()
            return stream.request_id

    assert asyncio.run(run()) == "req_1"


def test_an_ended_answer_gives_its_connection_back():
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"x") + END)
        await peer.reader.readuntil(b"}")
        await peer.send(head() + chunked(b"y") + END)

    async def run():
        async with upstream(answer) as server, HTTPTransport() as transport:
            for expected in (b"x", b"y"):
                stream = await transport.open(call_to(server.url))
                assert [read async for read in stream] == [expected]
                await stream.aclose()
            return len(server.peers)

    assert asyncio.run(run()) == 1


# --- no stream begins ---------------------------------------------------------------


def test_a_refused_connection_asks_whether_the_server_runs():
    async def run():
        async with upstream(stalling) as server:
            url = server.url
        async with HTTPTransport(timeouts=PATIENT) as transport:
            await transport.open(call_to(url))

    with pytest.raises(RequestFailed, match="Is the server running") as caught:
        asyncio.run(run())
    assert caught.value.category == "network"
    assert caught.value.retryable
    assert "http://127.0.0.1:" in str(caught.value)


def test_a_host_that_is_none_is_a_network_failure():
    async def run():
        async with HTTPTransport(timeouts=Timeouts(connect_s=5)) as transport:
            await transport.open(call_to("http://no-such-host.invalid/v1"))

    with pytest.raises(RequestFailed) as caught:
        asyncio.run(run())
    assert caught.value.category in ("network", "timeout")


def test_tls_against_a_plain_server_is_a_network_failure():
    async def run():
        short = Timeouts(connect_s=0.3)
        async with upstream(stalling) as server, HTTPTransport(timeouts=short) as transport:
            await transport.open(call_to(server.url.replace("http:", "https:")))

    with pytest.raises(RequestFailed) as caught:
        asyncio.run(run())
    assert caught.value.category in ("network", "timeout")


@pytest.mark.parametrize("start", [b"", head(), head() + b"5\r\n"])
def test_silence_before_the_first_byte_is_a_timeout(start):
    async def answer(peer: Peer) -> None:
        await peer.send(start)
        await peer.wait_gone()

    failed = failed_with(answer, timeouts=SHORT_FIRST_EVENT)
    assert (failed.category, failed.retryable) == ("timeout", True)
    assert "first_event_s=0.3" in str(failed)


def test_a_server_that_hangs_up_without_an_answer_is_a_network_failure():
    failed = failed_with(answering(b""))
    assert (failed.category, failed.retryable) == ("network", True)


def test_a_stream_that_ends_before_it_began_is_incomplete():
    failed = failed_with(answering(head() + END))
    assert (failed.category, failed.retryable) == ("incomplete", True)


def test_a_stream_that_is_cut_before_it_began_is_a_network_failure():
    assert failed_with(answering(head())).category == "network"


def test_what_is_no_http_is_a_protocol_failure():
    assert failed_with(answering(b"SSH-2.0-OpenSSH_9.6\r\n")).category == "protocol"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_redirects_are_not_followed(status):
    there = f"Location: http://127.0.0.1:1/?key={KEY}"
    failed = failed_with(answering(whole(status, b"", there)))
    assert failed.status == int(status[:3])
    assert "Redirects are not followed" in str(failed)


def test_an_unknown_encoding_is_a_protocol_failure():
    start = head("200 OK", "text/event-stream", "Content-Encoding: br")
    assert failed_with(answering(start + chunked(b"x") + END)).category == "protocol"


def test_an_error_with_status_200_is_a_failure():
    body = b'{"error": {"message": "no more", "code": "insufficient_quota"}}'
    failed = failed_with(answering(whole("200 OK", body)))
    assert (failed.category, failed.code, failed.status) == (
        "rate_limit",
        "insufficient_quota",
        200,
    )
    assert not failed.retryable


def test_json_that_is_no_error_is_passed_through():
    body = b'[{"candidates": []}]'
    reads, failure = reads_of(answering(whole("200 OK", body)))
    assert (b"".join(reads), failure) == (body, None)


def test_a_login_page_is_no_stream():
    page = b"<!doctype html><title>Sign in</title>"
    failed = failed_with(answering(whole("200 OK", page, kind="text/html")))
    assert failed.category == "protocol"
    assert "web page" in str(failed)


def test_a_stream_that_calls_itself_html_is_passed_through():
    start = head("200 OK", "text/html")
    reads, _ = reads_of(answering(start + chunked(b"data: {}\n\n") + END))
    assert reads == [b"data: {}\n\n"]


def test_of_a_long_error_only_the_start_is_read():
    async def answer(peer: Peer) -> None:
        await peer.send(head("500 Internal Server Error", "text/plain"))
        while not peer.gone.is_set():
            await peer.chunk(b"x" * 65536)

    failed = failed_with(answer)
    assert failed.category == "server"
    assert len(str(failed)) < 2_100


@pytest.mark.parametrize(
    "value", [f"Bearer {KEY}\n", f"{KEY}\r\nx-evil: 1", f"{KEY}\0"], ids=["lf", "crlf", "nul"]
)
def test_a_key_with_a_line_break_is_a_usage_error(value):
    async def run():
        async with HTTPTransport() as transport:
            call = call_to("http://127.0.0.1:1/")
            call.headers["authorization"] = value
            await transport.open(call)

    with pytest.raises(UsageError, match="authorization") as caught:
        asyncio.run(run())
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("url", ["", "localhost", "ftp://h/x", "http://[::1", "http://"])
def test_an_address_that_is_none_is_a_usage_error(url):
    async def run():
        async with HTTPTransport() as transport:
            await transport.open(call_to(url))

    with pytest.raises(UsageError, match="address"):
        asyncio.run(run())


def test_a_transport_belongs_to_one_loop():
    transport = HTTPTransport()

    async def run():
        async with upstream(answering(head() + chunked(b"x") + END)) as server:
            stream = await transport.open(call_to(server.url))
            await stream.aclose()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(run())
    with pytest.raises(UsageError, match="another event loop"):
        asyncio.run(run())
    loop.run_until_complete(transport.aclose())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


# --- TLS --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate that nobody has signed, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there")
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=h -keyout {file}"
    san = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", f"{file}.crt"]
    subprocess.run([*command.split(), *san], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{file}.crt", file)
    return context, ssl.create_default_context(cafile=f"{file}.crt")


def test_a_certificate_that_is_not_trusted_is_said(certificate):
    async def run():
        server = upstream(stalling, ssl=certificate[0])
        async with server as there, HTTPTransport() as transport:
            await transport.open(call_to(there.url))

    with pytest.raises(RequestFailed, match="certificate is not trusted") as caught:
        asyncio.run(run())
    assert (caught.value.category, caught.value.retryable) == ("network", False)


@pytest.mark.parametrize("read", [drained, pushed])
def test_a_stream_over_tls_is_whole(certificate, read):
    async def answer(peer: Peer) -> None:
        await peer.send(head())
        for number in range(20):
            await peer.chunk(b"%d " % number)
            await asyncio.sleep(0)
        await peer.send(END)

    async def run():
        transport = HTTPTransport(tls=certificate[1], timeouts=PATIENT)
        async with upstream(answer, ssl=certificate[0]) as server, transport:
            return await read(await transport.open(call_to(server.url)))

    reads, failure = asyncio.run(run())
    assert (b"".join(reads), failure) == (b"".join(b"%d " % n for n in range(20)), None)


def test_closing_over_tls_is_seen_by_the_peer_at_once(certificate, record_property):
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"a"))
        await peer.wait_gone()

    async def run():
        transport = HTTPTransport(tls=certificate[1])
        async with upstream(answer, ssl=certificate[0]) as server, transport:
            stream = await transport.open(call_to(server.url))
            assert await anext(stream) == b"a"
            begun = time.perf_counter()
            await stream.aclose()
            await asyncio.wait_for(server.peers[0].gone.wait(), 60)
            return time.perf_counter() - begun

    took = asyncio.run(run())
    record_property("summary", f"closing over TLS: the peer saw it after {took * 1000:.1f} ms")


# --- a stream breaks ------------------------------------------------------------------


def test_silence_after_a_read_is_a_timeout():
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"a"))
        await peer.wait_gone()

    begun = time.monotonic()
    reads, failure = reads_of(answer, timeouts=SHORT_IDLE)
    assert reads == [b"a"]
    assert failure is not None
    assert (failure.category, failure.retryable) == ("timeout", True)
    assert "idle_s=0.3" in failure.message
    assert time.monotonic() - begun > 0.1


def test_a_slow_reader_is_no_idle_stream():
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"a"))
        await asyncio.sleep(0.4)
        await peer.send(chunked(b"b") + END)

    async def run():
        async with upstream(answer) as server, HTTPTransport(timeouts=SHORT_IDLE) as transport:
            stream = await transport.open(call_to(server.url))
            reads = []
            async for read in stream:
                reads.append(read)
                await asyncio.sleep(0.5)
            return reads

    assert asyncio.run(run()) == [b"a", b"b"]


@pytest.mark.parametrize("is_reset", [True, False], ids=["reset", "closed"])
def test_what_came_before_a_break_is_handed_over(is_reset):
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"a"))
        await asyncio.sleep(0.05)
        await peer.send(chunked(b"b"))
        await asyncio.sleep(0.05)
        if is_reset:
            peer.reset()

    async def run():
        async with upstream(answer) as server, HTTPTransport() as transport:
            stream = await transport.open(call_to(server.url))
            first = await anext(stream)
            await asyncio.sleep(0.2)  # the connection breaks behind what is not read yet
            return first, *(await drained(stream))

    first, rest, failure = asyncio.run(run())
    assert (first, rest) == (b"a", [b"b"])
    assert (failure.category, failure.retryable) == ("network", True)


def test_closing_is_seen_by_the_peer_at_once(record_property):
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"a"))
        await peer.wait_gone()

    async def run(is_reading: bool) -> float:
        async with upstream(answer) as server, HTTPTransport() as transport:
            stream = await transport.open(call_to(server.url))
            await anext(stream)
            reading = asyncio.ensure_future(anext(stream, b"end")) if is_reading else None
            await asyncio.sleep(0.02)
            begun = time.perf_counter()
            await stream.aclose()
            await asyncio.wait_for(server.peers[0].gone.wait(), 60)
            took = time.perf_counter() - begun
            assert reading is None or await reading == b"end"
            return took

    worst = max(asyncio.run(run(is_reading)) for is_reading in [True, False] * 5)
    record_property("summary", f"closing a stream: the peer saw it after {worst * 1000:.1f} ms")


def test_cancelling_the_wait_for_an_answer_closes_the_connection():
    async def run():
        async with upstream(stalling) as server, HTTPTransport() as transport:
            opening = asyncio.ensure_future(transport.open(call_to(server.url)))
            while not (server.peers and server.peers[0].request):
                await asyncio.sleep(0.005)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            await asyncio.wait_for(server.peers[0].gone.wait(), 60)

    asyncio.run(run())
