"""No key in any error: its text, its parts, its causes, and the logs."""

from __future__ import annotations

import asyncio
import gzip
import logging
import traceback

import msgspec
import pytest

from headrace.errors import HeadraceError
from headrace.events import FrameSkipped
from headrace.recording import ReplayTransport
from headrace.transport import HTTPCall, HTTPLimits, Timeouts
from headrace.transport.call_secrets import address_of, secrets_of
from headrace.transport.http import HTTPTransport
from headrace.turn.open_turn import open_turn, read_turn
from headrace.wire.decoder import Decoder
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

QUERY = "AIzaCANARY-query-0123456789"
ECHO = f"Authorization: Bearer {KEY}, x-api-key: {KEY}, ?key={QUERY}"
ERROR = msgspec.json.encode({"error": {"message": ECHO, "type": KEY, "code": QUERY}})
EVENT = b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n'


async def reset(peer: Peer) -> None:
    await peer.send(head() + chunked(EVENT))
    peer.reset()


async def stall_late(peer: Peer) -> None:
    await peer.send(head() + chunked(EVENT))
    await peer.wait_gone()


GZIP = head("200 OK", "text/event-stream", "Content-Encoding: gzip")
MODES = {
    "no answer": answering(b""),
    "stall": stalling,
    "stall late": stall_late,
    "reset": reset,
    "cut": answering(head() + chunked(EVENT)),
    "cut in a chunk": answering(head() + b"ff\r\n" + EVENT),
    "no http": answering(ECHO.encode() + b"\r\n\r\n"),
    "bad header": answering(b"HTTP/1.1 200 OK\r\n" + ECHO.encode() + b"\0\r\n\r\n"),
    "bad chunk": answering(head() + chunked(EVENT) + ECHO.encode() + b"\r\n"),
    "401": answering(whole("401 No", ERROR, f"x-request-id: {KEY}")),
    "skipped frame": answering(head() + chunked(b"data: {" + ECHO.encode() + b"\n\n") + END),
    "page in a stream": answering(head() + chunked(b"<pre>" + ECHO.encode() + b"\n") + END),
    "500 text": answering(whole("500 No", ECHO.encode(), kind="text/plain")),
    "500 html": answering(whole("500 No", b"<p>" + ECHO.encode(), kind="text/html")),
    "429 list": answering(whole("429 No", b"[" + ERROR + b"]")),
    "redirect": answering(whole("302 Found", b"", f"Location: http://h/?{ECHO}")),
    "error in 200": answering(whole("200 OK", ERROR)),
    "login page": answering(whole("200 OK", b"<p>" + ECHO.encode(), kind="text/html")),
    "brotli": answering(head("200 OK", "a/b", "Content-Encoding: br") + chunked(b"x") + END),
    "damaged gzip": answering(GZIP + chunked(gzip.compress(b"x" * 99)[:-8] + b"\0" * 8) + END),
    "gzip bomb": answering(GZIP + chunked(gzip.compress(b": x\n" * 99_999)) + END),
    "empty": answering(head() + END),
}
UNREACHABLE = {
    "refused": "http://127.0.0.1:1/v1",
    "unknown host": "http://no-such-host.invalid/v1",
    "no scheme": "nowhere",
    "bad port": "http://h:99999999/",
    "bad scheme": "ftp://h/",
}


def call_to(url: str) -> HTTPCall:
    headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY}
    return HTTPCall(url=f"{url}?key={QUERY}", headers=headers, body=b"{}")


# Two of the failures are stalls.
SHORT = Timeouts(connect_s=60, first_event_s=1, idle_s=1)


async def _turn(url: str) -> str:
    """Everything a caller can see of one turn."""
    limits = HTTPLimits(max_inflated_bytes=2**16)
    async with HTTPTransport(timeouts=SHORT, limits=limits) as transport:
        try:
            stream = await transport.open(call_to(url))
        except HeadraceError as error:
            parts = [repr(error), error.args, vars(error), *traceback.format_exception(error)]
            causes = f"{error.__cause__!r} {error.__context__!r}"
            return causes + "".join(map(str, parts))
        events = [e async for read in read_turn(stream, Decoder("chat")) for e in read]
        return f"{stream.request_id}{events!r}"


async def _over(answer) -> str:
    async with upstream(answer) as server:
        return await _turn(server.url)


@pytest.mark.parametrize("mode", [*MODES, *UNREACHABLE])
def test_no_failure_shows_a_key(mode, caplog):
    caplog.set_level(logging.DEBUG)
    work = _over(MODES[mode]) if mode in MODES else _turn(UNREACHABLE[mode])
    seen = asyncio.run(asyncio.wait_for(work, 60), debug=True) + caplog.text
    assert "CANARY" not in seen
    assert "TurnFailed" in seen or seen.startswith("None None")


def test_a_call_never_shows_its_headers():
    call = call_to("http://h/v1")
    assert "CANARY" not in repr(call)
    assert "CANARY" not in str(call.__rich_repr__())


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h:8/v1?key=x#y", "https://h:8/v1"),
        ("https://user:word@h/v1", "https://h/v1"),
        ("http://[::1", "an address that is none"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url, shown):
    assert address_of(url) == shown


def test_harmless_headers_and_short_keys_stay_in_a_text():
    headers = {"anthropic-beta": "context-1m-2025", "authorization": "Bearer none"}
    secrets = secrets_of(HTTPCall(url="http://h/", headers=headers, body=b""))
    assert secrets.clean("none of context-1m-2025") == "none of context-1m-2025"


@pytest.mark.parametrize("before", range(1_000, 1_024, 3))
def test_a_skipped_frame_is_kept_without_the_key_of_the_call(before):
    key = "plainkey0123456789abcdef"
    call = HTTPCall(url="http://h/", headers={"x-secret": key}, body=b"{}")
    assert secrets_of(call).hide(key) != key

    async def run():
        data = b"data: {" + b"x" * before + key.encode() + b"\n\n" + EVENT
        turn = await open_turn(ReplayTransport([data]), call, lambda: Decoder("chat"))
        return [event async for events in turn for event in events]

    [skipped] = [e for e in asyncio.run(run()) if isinstance(e, FrameSkipped)]
    assert "plainkey" not in skipped.data
    assert len(skipped.data) <= 1_024
    assert skipped.size == len(key) + before + 1
