"""Signing in to MCP servers. The whole flow is tested by the conformance suite."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.auth import OAuthToken

from headrace import MCP, UsageError
from headrace.mcp import SignIn
from headrace.mcp.auth.sign_in import _Visit
from headrace.mcp.auth.token_file import TokenFile
from headrace.mcp.connection import ConnectionFailed


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_tokens_are_kept_for_each_server_in_a_file_of_the_user_alone(tmp_path: Path):
    path = tmp_path / "folder" / "tokens.json"

    async def main() -> None:
        one, two = (TokenFile(path, f"https://{name}.example", None) for name in ("one", "two"))
        await one.set_tokens(OAuthToken(access_token="first"))
        await two.set_tokens(OAuthToken(access_token="second"))
        again = await TokenFile(path, "https://one.example", None).get_tokens()
        assert again is not None
        assert again.access_token == "first"

    asyncio.run(main())
    assert path.stat().st_mode & 0o077 == 0
    path.write_text("{damaged")
    assert asyncio.run(TokenFile(path, "https://one.example", None).get_tokens()) is None


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "javascript:alert(1)", "http://evil.example/authorize"]
)
def test_users_are_not_sent_to_addresses_that_are_not_https(url: str):
    opened: list[str] = []
    visit = _Visit(opened.append, _free_port(), 5)
    with pytest.raises(ConnectionFailed, match="not https"):
        asyncio.run(visit.send_user(url))
    assert not opened


def test_the_browser_comes_back_to_the_loopback_address():
    port = _free_port()

    async def main() -> tuple[Any, int, int]:
        visit = _Visit(lambda _: None, port, 10)
        await visit.send_user("https://login.example/authorize")
        async with httpx2.AsyncClient() as browser:
            other = await browser.get(f"http://127.0.0.1:{port}/favicon.ico")
            back = await browser.get(f"http://127.0.0.1:{port}/callback?code=c&state=s&iss=i")
        return await visit.wait(), other.status_code, back.status_code

    result, other, back = asyncio.run(main())
    assert (result.code, result.state, result.iss) == ("c", "s", "i")
    assert (other, back) == (404, 200)


def test_a_refusal_and_a_user_who_does_not_come_back_are_told():
    async def main(query: str | None) -> None:
        port = _free_port()
        visit = _Visit(lambda _: None, port, 0.5)
        await visit.send_user("https://login.example/authorize")
        if query is not None:
            async with httpx2.AsyncClient() as browser:
                await browser.get(f"http://127.0.0.1:{port}/callback?{query}")
        await visit.wait()

    with pytest.raises(ConnectionFailed, match="refused"):
        asyncio.run(main("error=access_denied"))
    with pytest.raises(ConnectionFailed, match="in time"):
        asyncio.run(main(None))


def test_signing_in_is_for_servers_with_a_url():
    with pytest.raises(UsageError, match="sign_in is for MCP servers with a URL"):
        MCP("python -m server", sign_in=SignIn())
    with pytest.raises(UsageError, match="expected a port"):
        SignIn(port=0)
