"""Proxies of the environment, with a real one: used by default, but never for this machine."""

from __future__ import annotations

import asyncio

import pytest

from headrace.errors import RequestFailed
from headrace.transport.env_proxy import find_proxy
from headrace.transport.http import HTTPTransport
from headrace.transport.transport import HTTPCall
from tests.transport.upstream import END, answering, call_to, chunked, head, upstream


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_a_provider_elsewhere_is_reached_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(*, trust_env: bool = True) -> bytes:
        async with upstream(answering(head() + chunked(b"x") + END)) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url.rpartition("/v1")[0])
            call = HTTPCall(url="http://models.example/v1/chat", headers={}, body=b"{}")
            async with HTTPTransport(trust_env=trust_env) as transport:
                stream = await transport.open(call)
                assert [read async for read in stream] == [b"x"]
            return bytes(proxy.peers[0].request)

    assert asyncio.run(ask()).startswith(b"POST http://models.example/v1/chat HTTP/1.1\r\n")
    with pytest.raises(RequestFailed):
        asyncio.run(ask(trust_env=False))


def test_this_machine_is_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    async def ask() -> list[bytes]:
        async with (
            upstream(answering(head() + chunked(b"x") + END)) as server,
            HTTPTransport() as transport,
        ):
            stream = await transport.open(call_to(server.url, b"{}"))
            return [read async for read in stream]

    assert asyncio.run(ask()) == [b"x"]


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://api.example/v1", "http://proxy:3128"),
        ("http://api.example/v1", None),
        ("https://inner.corp.example/v1", None),
        ("https://localhost:8000/v1", None),
        ("https://[::1]/v1", None),
        ("https://[broken/v1", None),
    ],
)
def test_the_variables_decide(url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy:3128")
    monkeypatch.setenv("NO_PROXY", "corp.example,other.example")
    assert find_proxy(url) == proxy
