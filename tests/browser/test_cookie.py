"""The cookie of a sign-in in a real browser: the page has it, scripts do not, and the page of
another origin gets nothing with it, even a sibling that the browser sends the cookie for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Response

from tests.browser.stage import Stage
from tests.server.accounts import PASSWORD, password_hash

_SIGN_IN = """async ([user, password]) => {
    const body = JSON.stringify({user, password});
    const headers = {'content-type': 'application/json'};
    return (await fetch('/api/sign-in', {method: 'POST', headers, body})).status;
}"""
_ACCOUNT = "async () => (await (await fetch('/api/account')).json()).user ?? null"
_STEAL = """async (address) => {
    const read = {mode: 'no-cors', credentials: 'include'};
    const send = (path, more) => fetch(address + path, {...read, ...more}).catch(() => null);
    await send('/api/account');
    await send('/api/account/export');
    await send('/api/sign-out', {method: 'POST'});
    const opened = await new Promise((done) => {
        const socket = new WebSocket(address.replace('http', 'ws') + '/v1/responses');
        socket.onopen = () => done(true);
        socket.onerror = () => done(false);
    });
    return opened;
}"""


class _EvilPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>Hello")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def evil_url() -> Iterator[str]:
    """A page of another program on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _EvilPage)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path / "data", needs_sign_in=True).open()

    async def add() -> None:
        await stage.service.accounts.add("anna", "user", password_hash(), 1)

    stage.do(add)
    yield stage
    stage.close()


def note_cookies(stage: Stage) -> dict[str, str]:
    """The cookies that reach the server from now on, by path."""
    noted: dict[str, str] = {}
    identity: Any = stage.service.identity
    find_user = identity.find_user

    async def find(request: Any, scope: Any) -> Any:
        noted[request.url.path] = request.headers.get("cookie", "")
        return await find_user(request, scope)

    identity.find_user = find
    return noted


def test_the_page_is_signed_in_and_no_other_origin_gets_anything(
    stage: Stage, evil_url: str, context: BrowserContext
) -> None:
    # Not the fixture for pages: the browser complains about what this one tries.
    page, told = context.new_page(), list[Response]()
    page.goto(f"{stage.url}/healthz")
    assert page.evaluate(_ACCOUNT) is None
    assert page.evaluate(_SIGN_IN, ["anna", "wrong"]) == 401
    assert page.evaluate(_SIGN_IN, ["anna", PASSWORD]) == 200
    assert page.evaluate(_ACCOUNT) == "anna"
    assert page.evaluate("document.cookie") == ""
    (cookie,) = context.cookies()
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")

    cookies = note_cookies(stage)
    # A port is another origin, but the same site: the browser sends the cookie along.
    page.goto(evil_url)
    page.on("response", lambda response: told.append(response))  # noqa: PLW0108 (not a builtin)
    assert page.evaluate(_STEAL, stage.url) is False
    assert {one.url.removeprefix(stage.url): one.status for one in told} == {
        "/api/account": 401,
        "/api/account/export": 401,
        "/api/sign-out": 403,
    }
    for path in ("/api/account", "/api/account/export"):
        assert cookies[path].startswith("headrace=hrs_")
    page.goto(f"{stage.url}/healthz")
    assert page.evaluate(_ACCOUNT) == "anna"
