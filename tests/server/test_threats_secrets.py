"""T14: a key is in no log, no file, no frame, no span and no answer, whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.engine import Agent
from headrace.projections.registry import PROTOCOLS
from headrace.transport.retry import NEVER
from tests.otel.traced import Traces
from tests.server.serving import Served, served
from tests.server.tokens import create_token
from tests.transport.upstream import END, KEY, Peer, answering, head, upstream, whole

Answer = Callable[[Peer], Awaitable[None]]
QUOTED = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY}})


def refusing(status: str, body: str = QUOTED) -> Answer:
    return answering(whole(status, body.encode(), f"X-Request-Id: {KEY}", f"Location: /?key={KEY}"))


def streaming(*pieces: bytes, is_cut: bool = False) -> Answer:
    async def answer(peer: Peer) -> None:
        await peer.send(head())
        for piece in pieces:
            await peer.chunk(piece)
        await peer.send(b"" if is_cut else END)

    return answer


def event(value: Any) -> bytes:
    return b"data: %b\n\n" % json.dumps(value).encode()


async def mirror(peer: Peer) -> None:
    """Sends back what it was asked with, headers and all."""
    error = {"error": {"message": peer.request.decode("latin-1")}}
    await peer.send(whole("400 Bad Request", json.dumps(error).encode()))


async def reset(peer: Peer) -> None:
    peer.reset()


STATUSES = (
    "301 Moved Permanently,307 Temporary Redirect,400 Bad Request,401 Unauthorized,"
    "402 Payment Required,403 Forbidden,404 Not Found,408 Request Timeout,409 Conflict,"
    "413 Too Large,418 Teapot,422 Unprocessable,429 Too Many Requests,500 Internal Server Error,"
    "502 Bad Gateway,503 Service Unavailable,504 Gateway Timeout,529 Overloaded"
).split(",")
BODIES = (
    f"Authorization: Bearer {KEY}",
    f"<html><body>{KEY}</body></html>",
    json.dumps({"detail": [{"input": {"authorization": f"Bearer {KEY}"}}]}),
    json.dumps({"message": f"GET https://x/?key={KEY}&alt=sse", "error": KEY}),
    json.dumps([{"error": {"details": [{"api_key": KEY}]}}]),
    json.dumps({"error": {"message": f"url: https://{KEY}@host/v1"}}),
)
MODES: dict[str, Answer] = {
    **{status: refusing(status) for status in STATUSES},
    **{f"body {n}": refusing("400 Bad Request", body) for n, body in enumerate(BODIES)},
    **{f"200 {n}": refusing("200 OK", body) for n, body in enumerate(BODIES)},
    "mirror": mirror,
    "reset": reset,
    "nothing": answering(b""),
    "no http": answering(f"{KEY}\r\n\r\n".encode()),
    "a wrong header": answering(f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode()),
    "in-band error": streaming(event(json.loads(QUOTED))),
    "in-band word": streaming(event({"error": KEY})),
    "nonsense": streaming(*[f"data: {{{KEY}\n\n".encode()] * 300),
    "cut": streaming(event({"choices": [{"delta": {"content": "Hi"}}]}), is_cut=True),
    "an encoding": answering(head("200 OK", "text/event-stream", f"Content-Encoding: {KEY}")),
    "a type": answering(head("200 OK", KEY)),
}


def delta(**fields: Any) -> bytes:
    return event({"id": KEY, "model": KEY, "choices": [{"index": 0, "delta": fields}]})


def letters(field: str) -> list[bytes]:
    """The key in deltas of one character each, with some text around it."""
    return [delta(**{field: piece}) for piece in ("It is ", *KEY, " or so.")]


def call(**fields: Any) -> bytes:
    return delta(tool_calls=[{"index": 0, "id": KEY, "type": "function", "function": fields}])


DONE = (
    event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n"
)
ECHOES: dict[str, Answer] = {
    "text": streaming(delta(content=f"Key: {KEY}."), DONE),
    "text in letters": streaming(*letters("content"), DONE),
    "reasoning in letters": streaming(*letters("reasoning_content"), delta(content="Hi."), DONE),
    "half a key at the end": streaming(delta(content=KEY[:20]), DONE),
    "arguments": streaming(
        call(name=KEY, arguments='{"a": "' + KEY[:9]), call(arguments=KEY[9:] + '"}'), DONE
    ),
    "escaped arguments": streaming(
        call(name="f", arguments='{"a": "\\u0073'), call(arguments=KEY[1:] + '"}'), DONE
    ),
    "a finish reason": streaming(
        delta(content="Hi."), event({"choices": [{"delta": {}, "finish_reason": KEY}]}), DONE
    ),
    "unknown fields": streaming(delta(content="Hi.", unheard_of={KEY: [KEY]}), DONE),
    "a citation": streaming(
        delta(
            content="Hi.",
            annotations=[
                {"type": "url_citation", "url_citation": {"url": f"https://{KEY}/", "title": KEY}}
            ],
        ),
        DONE,
    ),
    "a header": answering(head("200 OK", "text/event-stream", f"X-Request-Id: {KEY}") + b""),
    "a cut": streaming(delta(content=f"Key: {KEY[:14]}"), delta(content=KEY[14:]), is_cut=True),
}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.DEBUG)
    for name in ("headrace", "headrace.server", "asyncio", "aiohttp", "uvicorn", "uvicorn.error"):
        caplog.set_level(logging.DEBUG, name)
    return caplog


async def told(server: Served, model: str) -> str:
    """Everything that a client can read of one question."""
    parts: list[str] = []
    for protocol in PROTOCOLS:
        async with server.open("Go.", protocol=protocol, model=model) as response:
            parts.append(str(response.headers) + await response.text())
            event_id = response.headers.get("x-event-id", "")
        async with server.resume(event_id, protocol=protocol) as response:
            parts.append(await response.text())
    return "\n".join(parts)


async def read(server: Served) -> str:
    """Everything that is there to be read afterwards."""
    _, listed = await server.get("/api/conversations")
    paths = [f"/api/conversations/{one['id']}" for one in listed["conversations"]]
    exports = [f"{path}/export?format={form}" for path in paths for form in ("json", "markdown")]
    parts: list[str] = []
    for path in [*paths, *exports, "/metrics", "/readyz", "/api/models", "/openapi.json"]:
        async with server.http.get(server.url + path) as response:
            parts.append(str(response.headers) + await response.text())
    return "\n".join(parts)


async def dispatch(peer: Peer) -> None:
    """The mode is in the address."""
    number = peer.request.split(b"/", 2)[1]
    await [*MODES.values(), *ECHOES.values()][int(number)](peer)


def agents(port: int) -> dict[str, Agent]:
    return {
        mode: Agent(
            "compatible:m",
            base_url=f"http://127.0.0.1:{port}/{number}/v1",
            api_key=KEY,
            policy=NEVER,
        )
        for number, mode in enumerate([*MODES, *ECHOES])
    }


def test_t14_a_key_stays_where_it_is(
    tmp_path: Path, logged: Any, capfd: Any, record_property: Any
) -> None:
    traces = Traces(has_content=True)

    async def main() -> dict[str, str]:
        telemetry = traces.create_telemetry()
        async with upstream(dispatch) as peer:
            async with served(agents(peer.port), tmp_path, telemetry=telemetry) as server:
                seen = {mode: await told(server, mode) for mode in MODES}
                seen["afterwards"] = await read(server)
            assert all(KEY.encode() in one.request for one in peer.peers)
            return seen

    seen = asyncio.run(main())
    for mode in MODES:
        assert '"type":"message_error"' in seen[mode], mode
    assert [mode for mode, text in seen.items() if KEY in text] == []
    assert traces.dump().count('"name": "chat ') >= len(MODES)
    check(traces.dump(), tmp_path, logged, capfd, KEY)
    assert len(MODES) >= 40
    record_property("summary", f"T14: a key through {len(MODES)} failures, found nowhere")


def test_t14_a_key_that_the_provider_sends_back_is_masked(
    tmp_path: Path, logged: Any, capfd: Any
) -> None:
    traces = Traces(has_content=True)

    async def main() -> dict[str, str]:
        telemetry = traces.create_telemetry()
        async with (
            upstream(dispatch) as peer,
            served(agents(peer.port), tmp_path, telemetry=telemetry) as server,
        ):
            seen = {mode: await told(server, mode) for mode in ECHOES}
            seen["afterwards"] = await read(server)
            return seen

    seen = asyncio.run(main())
    size = 8
    pieces = [KEY[at : at + size] for at in range(len(KEY) - size + 1)]
    # Frames and records of single letters must be put together first.
    for mode, text in seen.items():
        texts = [text, _joined_text(text)]
        assert not [piece for piece in pieces if any(piece in one for one in texts)], mode
    recorded = traces.dump()
    assert "gen_ai.output.messages" in recorded
    for piece in pieces:
        check(recorded, tmp_path, logged, capfd, piece)
    assert "*" * len(KEY) in seen["text"]
    assert "or so." in _joined_text(seen["text in letters"])


def _joined_text(text: str) -> str:
    """The letters of all deltas, one after the other."""
    found: list[object] = []
    for line in text.splitlines():
        if not line.startswith("data: {"):
            continue
        frame = json.loads(line.removeprefix("data: "))
        found += [value for name, value in frame.items() if name in ("text", "delta", "content")]
    return "".join(one for one in found if isinstance(one, str))


def check(seen: str, data: Path, logged: Any, capfd: Any, key: str) -> None:
    files = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    out, err = capfd.readouterr()
    places = {
        "answers": seen,
        "files": files.decode("latin-1"),
        "log": logged.text + str([record.__dict__ for record in logged.records]),
        "stdout": out,
        "stderr": err,
    }
    assert [place for place, text in places.items() if key in text] == []


def test_t14_a_users_token_stays_where_it_is(tmp_path: Path, logged: Any, capfd: Any) -> None:
    traces = Traces(has_content=True)

    async def main() -> tuple[str, str]:
        telemetry = traces.create_telemetry()
        async with upstream(dispatch) as peer:
            async with served(
                agents(peer.port), tmp_path, needs_token=True, telemetry=telemetry
            ) as server:
                token = create_token(server.service, "anna", "", 0)
                server.http.headers["authorization"] = f"Bearer {token}"
                seen = await told(server, "mirror") + await read(server)
                for path in ("/nothing", "/api/chat/x/stream", f"/api/conversations?q={token}"):
                    async with server.http.get(server.url + path) as response:
                        seen += await response.text()
            assert all(token.encode() not in one.request for one in peer.peers)
            return seen, token

    seen, token = asyncio.run(main())
    check(seen + traces.dump(), tmp_path, logged, capfd, token)
