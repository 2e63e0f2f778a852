"""T6: what a stranger may have fetched, and what is never connected to."""

from __future__ import annotations

import asyncio
import gzip
import socket
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address, ip_network
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.address import Address, is_public, parse_address
from headrace.errors import RequestFailed
from headrace.transport.fetch import Fetched, FetchLimits, fetch
from tests.transport.upstream import Peer, head, whole

Answer = Callable[[Peer], Awaitable[None]]
HERE = ip_address("127.0.0.1")
NAT64 = ip_network("64:ff9b::/96")


def only_here(address: Address) -> bool:
    """What a test must be allowed, and not a bit more."""
    return address == HERE or is_public(address)


@asynccontextmanager
async def site(*answers: Answer | bytes, host: str = "127.0.0.1"):
    """A server; each connection gets the next answer, and the last one stays."""
    peers: list[Peer] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        peers.append(peer)
        answer = answers[min(len(peers), len(answers)) - 1]
        try:
            peer.request = await reader.readuntil(b"\r\n\r\n")
            await (peer.send(answer) if isinstance(answer, bytes) else answer(peer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield SimpleNamespace(url=f"http://127.0.0.1:{port}/", port=port, peers=peers)
    finally:
        server.close()
        for peer in peers:
            peer.reset()
        await asyncio.sleep(0)


def page(body: bytes = b"<p>hi</p>", *lines: str, kind: str = "text/html; charset=utf-8") -> bytes:
    return whole("200 OK", body, *lines, kind=kind)


def moved(where: str, status: str = "302 Found") -> bytes:
    return whole(status, b"", f"Location: {where}")


def fetched(*answers: Answer | bytes, path: str = "", **options: Any) -> tuple[Fetched, Any]:
    async def run() -> tuple[Fetched, Any]:
        async with site(*answers) as server:
            got = await fetch(server.url + path, **{"allows": only_here} | options)
            return got, server

    return asyncio.run(run())


def refused(*answers: Answer | bytes, **options: Any) -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        fetched(*answers, **options)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value


def refused_url(url: str, **options: Any) -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        asyncio.run(fetch(url, **options))
    return caught.value


# --- what comes ---------------------------------------------------------------------


def test_a_page_comes_and_nothing_of_ours_goes(monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.9:9")
    got, server = fetched(page(b"hi", "Set-Cookie: a=b"), path="x?y=1#secret")
    assert (got.body, got.media_type, got.charset) == (b"hi", "text/html", "utf-8")
    (peer,) = server.peers
    assert peer.request.startswith(b"GET /x?y=1 HTTP/1.1\r\n")
    sent = peer.request.lower()
    assert not any(word in sent for word in (b"cookie", b"authorization", b"secret"))


def test_redirects_are_followed_without_cookies_and_told():
    got, server = fetched(
        whole("301 Moved", b"", "Location: /b", "Set-Cookie: a=b"), moved("c"), page()
    )
    assert got.url.endswith("/c")
    assert [peer.request.split()[1] for peer in server.peers] == [b"/", b"/b", b"/c"]
    assert not any(b"cookie" in peer.request.lower() for peer in server.peers)


def test_redirects_have_an_end():
    error = refused(moved("/again"))
    assert (error.category, "max_redirects=5" in str(error)) == ("protocol", True)


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_compressed_page_is_inflated(encoding: str):
    body = gzip.compress(b"hi") if encoding == "gzip" else b"hi"
    got, _ = fetched(page(body, f"Content-Encoding: {encoding}"))
    assert got.body == b"hi"


def test_a_page_that_is_cut_inside_its_compression_is_no_page():
    error = refused(page(gzip.compress(b"hi" * 500)[:-9], "Content-Encoding: gzip"))
    assert (error.category, error.retryable) == ("network", True)
    assert "was cut before its end" in str(error)


# --- what is too much ---------------------------------------------------------------


def test_a_page_that_says_it_is_too_large_is_not_read():
    async def answer(peer: Peer) -> None:
        await peer.send(head("200 OK", "text/html", f"Content-Length: {10**12}", chunked=False))
        await peer.wait_gone()

    assert "max_bytes" in str(refused(answer))


def test_a_page_that_does_not_say_it_is_cut_off_at_the_limit():
    sent: list[int] = []

    async def answer(peer: Peer) -> None:
        await peer.send(head("200 OK", "text/plain"))
        for _ in range(10_000):
            await peer.chunk(b"x" * 65536)
            sent.append(65536)

    assert "max_bytes=100000" in str(refused(answer, limits=FetchLimits(max_bytes=100_000)))
    assert sum(sent) < 20_000_000


def test_a_bomb_is_not_inflated_past_the_limit():
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    error = refused(page(bomb, "Content-Encoding: gzip"))
    assert (error.category, "max_inflated_bytes" in str(error)) == ("protocol", True)


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_page_that_is_too_slow_is_given_up(is_begun: bool):
    async def answer(peer: Peer) -> None:
        if is_begun:
            await peer.send(head("200 OK", "text/plain"))
        while is_begun:
            await peer.chunk(b"x")
            await asyncio.sleep(0.01)
        await peer.wait_gone()

    error = refused(answer, limits=FetchLimits(timeout_s=0.3))
    assert (error.category, error.retryable) == ("timeout", True)


@pytest.mark.parametrize(
    ("answer", "category"),
    [
        (page(b"x", kind="image/png"), "protocol"),
        (page(b"x", kind="application/octet-stream"), "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "protocol"),
        (page(b"x", "Content-Encoding: br"), "protocol"),
        (whole("404 Not Found", b"x"), "not_found"),
        (whole("500 Oh", b"x"), "unknown"),
        (b"garbage\r\n\r\n", "network"),
        (b"", "network"),
    ],
)
def test_what_is_no_text_is_refused(answer: bytes, category: str):
    assert refused(answer).category == category


# --- what is never connected to -----------------------------------------------------

# Each in a form that a filter of strings has let pass, or might.
PRIVATE = [
    "127.0.0.1", "127.0.0.2", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1",
    "0177.0.0.1", "017700000001", "0", "0.0.0.0", "127.000.000.001", "①②⑦.⓪.⓪.①",
    "127。0。0。1", "localhost", "localhost.", "LOCALHOST", "10.0.0.1", "10.1",
    "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "192.168.257", "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
    "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1",
    "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "192.0.2.1", "203.0.113.1",
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[::ffff:a9fe:a9fe]", "[::ffff:0:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::1]",
    "[fe80::1%25lo]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]",
    "[100::1]", "[3fff::1]", "[5f00::1]",
]  # fmt: skip


class Connections:
    """What is connected to, whoever does it."""

    def __init__(self) -> None:
        self.made: list[Any] = []


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    counted = Connections()
    connect = BaseSelectorEventLoop.sock_connect

    async def sock_connect(loop: Any, sock: socket.socket, address: Any) -> Any:
        counted.made.append(address)
        return await connect(loop, sock, address)

    monkeypatch.setattr(BaseSelectorEventLoop, "sock_connect", sock_connect)
    return counted


@pytest.mark.parametrize("host", PRIVATE)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_private_address_in_any_form_is_never_connected(
    host: str, scheme: str, connections: Connections
):
    error = refused_url(f"{scheme}://{host}:8080/x")
    assert error.category in ("permission", "invalid_request", "network")
    assert connections.made == []


@pytest.mark.parametrize("host", [*PRIVATE, "127.0.0.1:80@example.com", "user:pw@127.0.0.1"])
@pytest.mark.parametrize("status", ["301 M", "302 F", "303 S", "307 T", "308 P"])
def test_a_redirect_there_is_never_connected_either(
    host: str, status: str, connections: Connections
):
    if host in ("127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"):
        return  # where the test's own server is
    if host.startswith("localhost") or ip_of(host) == HERE:
        host = "127.0.0.2"
    refused(moved(f"http://{host}:8080/x", status))
    assert len(connections.made) == 1


def ip_of(host: str) -> Any:
    """What the system makes of a name, for forms that are the test's own server."""
    try:
        return ip_address(socket.getaddrinfo(host.strip("[]"), None)[0][4][0])
    except (OSError, ValueError, UnicodeError):
        return None


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "data:text/html,x",
        "javascript:alert(1)", "//example.com/", "example.com", "/etc/passwd", "", " ", "http://",
        "http:///x", "http:\\\\127.0.0.1\\x", "http://example.com\\@127.0.0.1/",
        "http://127.0.0.1\\@example.com/", "http://user@example.com/", "http://u:p@example.com/",
        "http://example.com:99999/", "http://example.com:x/", "http://exa mple.com/",
        "http://example.com/\r\nHost: x", "http://example.com/\0", "http://[::1", "http://[x]/",
        "http://[::ffff:127.0.0.1]:80@example.com/", "http://example.com#@127.0.0.1\\",
        "HTTP:127.0.0.1",
        "http://" + "a" * 3_000, "unix:///run/x.sock", "http+unix://x/",
    ],
)  # fmt: skip
def test_what_is_no_address_of_the_web_is_refused(url: str, connections: Connections):
    error = refused_url(url, lookup=names({}))
    assert error.category in ("invalid_request", "network", "permission")
    assert connections.made == []


def names(known: dict[str, list[str]]):
    """A name server that counts."""
    asked: list[str] = []

    async def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        if host not in known:
            raise OSError(f"no {host}")
        return known[host]

    lookup.asked = asked  # type: ignore[attr-defined]
    return lookup


@pytest.mark.parametrize(
    "addresses",
    [["10.0.0.7"], ["169.254.169.254"], ["::1"], ["::ffff:10.0.0.1"], ["fe80::1%lo"],
     ["8.8.8.8", "127.0.0.1"], ["2606:4700::1", "fd00::1"], ["not an address"], []],
)  # fmt: skip
def test_a_name_with_one_private_address_is_never_connected(
    addresses: list[str], connections: Connections
):
    refused_url("http://innocent.example/", lookup=names({"innocent.example": addresses}))
    assert connections.made == []


def test_a_name_is_looked_up_once_and_a_second_answer_changes_nothing(connections: Connections):
    answers = [["127.0.0.1"], ["127.0.0.2"]]

    async def run() -> None:
        async def lookup(host: str, port: int) -> list[str]:
            return answers.pop(0)

        async with site(page()) as server:
            url = f"http://rebind.example:{server.port}/"
            got = await fetch(url, allows=only_here, lookup=lookup)
            assert got.body == b"<p>hi</p>"

    asyncio.run(run())
    assert len(answers) == 1
    assert [address[0] for address in connections.made] == ["127.0.0.1"]


def test_a_name_that_turns_private_between_two_hops_is_refused(connections: Connections):
    answers = [["127.0.0.1"], ["127.0.0.2"]]

    async def run() -> None:
        async def lookup(host: str, port: int) -> list[str]:
            return answers.pop(0)

        async with site(moved("/next"), page()) as server:
            url = f"http://rebind.example:{server.port}/"
            with pytest.raises(RequestFailed, match=r"127\.0\.0\.2 is not an address") as caught:
                await fetch(url, allows=only_here, lookup=lookup)
            assert caught.value.category == "permission"

    asyncio.run(run())
    assert len(connections.made) == 1


def test_what_is_connected_is_looked_at_once_more():
    """As if the socket had got elsewhere than it was told."""
    seen: list[Address] = []

    def allows(address: Address) -> bool:
        seen.append(address)
        return len(seen) < 2

    assert refused(page(b"secret"), allows=allows).category == "permission"
    assert seen == [HERE, HERE]


# --- addresses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001::8a",
             "64:ff9b::808:808", "::ffff:8.8.8.8", "172.32.0.1", "100.128.0.1"],
)  # fmt: skip
def test_the_public_internet_is_public(text: str):
    address = parse_address(text)
    assert address is not None
    assert is_public(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_python_calls_special(address: Address):
    special = address.is_private or address.is_loopback or address.is_link_local
    special = special or address.is_multicast or address.is_reserved or address.is_unspecified
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is None and special and address not in NAT64:
        assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_within_an_address_is_what_counts(address: Any):
    for form in (f"::ffff:{address}", f"64:ff9b::{address}"):
        inner = parse_address(form)
        assert inner is not None
        assert is_public(inner) == is_public(address)
