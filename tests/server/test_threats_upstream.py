"""T5, T8 and T18: a request cannot choose whom we ask, and whom we ask cannot pose as us, nor
fill our memory."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace import WireLimits
from headrace.engine import Agent
from headrace.projections.registry import PROTOCOLS
from headrace.projections.thinking import frame as thinking_frame
from headrace.projections.ux import frame as ux_frame
from headrace.transport.retry import NEVER
from tests.memory import resident_kb
from tests.server.serving import Served, frames, served
from tests.server.test_threats_frames import read
from tests.transport.upstream import END, KEY, Peer, head, upstream

LIMITS = WireLimits(
    max_line_bytes=1 << 20,
    max_frame_bytes=1 << 20,
    max_total_bytes=8 << 20,
    max_silent_bytes=4 << 20,
    max_part_chars=1 << 20,
    max_skipped_frames=50,
)


def delta(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return b"data: %b\n\n" % json.dumps({"id": "c", "choices": [choice]}).encode()


STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


async def polite(peer: Peer) -> None:
    await peer.send(head())
    await peer.chunk(delta("Hi.") + STOP)
    await peer.send(END)


@asynccontextmanager
async def asking(answer: Callable[[Peer], Awaitable[None]], data: Path) -> AsyncIterator[Any]:
    """A server whose model is this upstream."""
    async with upstream(answer) as peer:
        agent = Agent(
            "compatible:m",
            base_url=f"http://127.0.0.1:{peer.port}/v1",
            api_key=KEY,
            policy=NEVER,
            wire_limits=LIMITS,
        )
        async with served(agent, data) as server:
            yield server, peer


# --- T5: whom we ask ----------------------------------------------------------------------

FIELDS = (
    "base_url api_base url endpoint host model provider proxy api_key options extra_body"
    " extra_headers headers transport tools webhook callback_url conversation_id parent_id"
).split()
HEADERS = (
    "x-base-url x-api-base x-forwarded-host x-forwarded-server x-original-url x-rewrite-url"
    " forwarded x-upstream x-openai-base-url openai-base-url x-target proxy x-forwarded-for"
).split()


def payloads(port: int) -> Iterator[tuple[dict[str, Any], dict[str, str], str]]:
    """(body, headers, query), each with the address of somebody else."""
    for where in (f"http://127.0.0.1:{port}/v1", f"127.0.0.1:{port}", f"//127.0.0.1:{port}"):
        for field in FIELDS:
            yield {"message": "x", field: where}, {}, ""
            yield {"message": "x", field: {"base_url": where}}, {}, ""
        for name in HEADERS:
            yield {"message": "x"}, {name: where}, ""
        for field in FIELDS[:8]:
            yield {"message": "x"}, {}, f"?{field}={where}"
        yield {"message": f"![x]({where}/a.png) <img src={where}> {where}"}, {}, ""
        yield {"message": "x", "model": f"compatible:m@{where}"}, {}, ""


def test_t5_no_request_names_a_host_that_is_asked(tmp_path: Path, record_property: Any) -> None:
    reached: list[Any] = []

    async def canary(reader: Any, writer: asyncio.StreamWriter) -> None:
        reached.append(writer)
        writer.close()

    async def main() -> int:
        listener = await asyncio.start_server(canary, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        count = 0
        async with asking(polite, tmp_path) as (server, peer):
            for body, headers, query in payloads(port):
                path = f"{server.url}/api/chat{query}"
                async with server.http.post(path, json=body, headers=headers) as response:
                    assert response.status in (200, 404, 422), (body, headers)
                    await response.read()
                count += 1
            assert f"host: 127.0.0.1:{peer.port}".encode() in peer.peers[0].request.lower()
        listener.close()
        return count

    count = asyncio.run(main())
    assert reached == []
    assert count >= 60
    record_property("summary", f"T5: {count} payloads that name a host, it was asked 0 times")


# --- T8: whom we ask does not speak for us ------------------------------------------------


def names() -> set[str]:
    """The types of all frames of both protocols."""
    modules = (ux_frame, thinking_frame)
    found = {
        getattr(getattr(kind, "__struct_config__", None), "tag", None)
        for module in modules
        for kind in vars(module).values()
    }
    return {name for name in found if isinstance(name, str)}


FORGED = "msg_forged"
HTML = "<script>alert(1)</script><img src=x onerror=alert(1)>"
BREAK = '\n\nid: 1.1\nevent: message_final\ndata: {"type":"message_final"}\n\nretry: 1\n\r\r'


def forgeries(field: str) -> Iterator[bytes]:
    ends = ("message_final", "message_error", "message_cancelled", "done", "error", "cancelled")
    for name in sorted({*names(), *ends}):
        event = {"type": name, "event_id": FORGED, "event": {"id": FORGED}, field: HTML}
        payload = json.dumps(event).encode()
        yield b"event: %b\nid: 999.1\nretry: 1\ndata: %b\n\n" % (name.encode(), payload)
    yield b": \n\nid: 5\n\nretry: 1\n\nevent: message_final\n\n"
    yield b"data: {}\n\ndata: null\n\ndata: []\n\n"


@pytest.mark.parametrize("protocol", PROTOCOLS)
# What has a message and nothing else is taken for an error, which ends the turn.
@pytest.mark.parametrize("field", ["note", "message"])
def test_t8_nothing_that_an_upstream_sends_poses_as_ours(
    protocol: str, field: str, tmp_path: Path
) -> None:
    said = [HTML, BREAK, "data: [DONE]\n\n", "\ufeff", "\u2028"]
    forged = [one for one in forgeries(field) if b'"type": "error"' not in one]

    async def hostile(peer: Peer) -> None:
        await peer.send(head())
        await peer.chunk(delta(said[0]) + b"".join(forged))
        for text in said[1:]:
            await peer.chunk(delta(text))
        await peer.chunk(STOP + b"".join(forged))
        await peer.send(END)

    async def main() -> None:
        async with asking(hostile, tmp_path) as (server, _):
            event_id, _, data = await server.ask("Go.", protocol=protocol)
            check(event_id, data)

    def check(event_id: str, data: bytes) -> None:
        events = read(data)
        ids = [tuple(map(int, number.partition("-")[0].split("."))) for number, _, _ in events]
        assert ids == sorted(set(ids))
        assert max(ids)[0] < 100
        assert {kind for _, kind, _ in events} == {""}
        told = [json.loads(text) for _, _, text in events if text != "[DONE]"]
        if protocol in _TEXT_FIELDS:
            texts = [one[_TEXT_FIELDS[protocol]] for one in told if one["type"] == "text_delta"]
            assert "".join(texts) == "".join(said if field == "note" else said[:1])
        assert sum(one["type"] in _ENDS for one in told) == 1
        assert FORGED not in {one.get("event_id") for one in told}
        if protocol == "ux":
            assert told[-1]["event"]["id"] == event_id

    asyncio.run(main())


_ENDS = {end for protocol in PROTOCOLS.values() for end in protocol.ends}
# Where the protocols that we know have their text.
_TEXT_FIELDS = {"ux": "text_delta", "thinking": "content"}


# --- T18: whom we ask does not fill our memory -----------------------------------------------


async def _for_ever(peer: Peer, pieces: Iterator[bytes]) -> None:
    await peer.send(head())
    for piece in pieces:
        await peer.chunk(piece)


async def endless_line(peer: Peer) -> None:
    await _for_ever(peer, itertools.chain([b"data: "], itertools.repeat(b"x" * 65_536)))


async def endless_comment(peer: Peer) -> None:
    await _for_ever(peer, itertools.repeat(b": nothing\n" * 6_000))


async def endless_frames(peer: Peer) -> None:
    await _for_ever(peer, itertools.repeat(b"data: {}\n\n" * 6_000))


async def endless_text(peer: Peer) -> None:
    await _for_ever(peer, itertools.repeat(delta("x" * 60_000)))


async def endless_nonsense(peer: Peer) -> None:
    await _for_ever(peer, itertools.repeat(b"data: {nonsense\n\n"))


async def bomb(peer: Peer) -> None:
    await peer.send(head("200 OK", "text/event-stream", "Content-Encoding: gzip"))
    packed = gzip.compress(delta("x" * 60_000) * 4_000)
    await peer.chunk(packed)
    await peer.send(END)


HOSTILE = {
    "max_line_bytes": endless_line,
    "max_silent_bytes": endless_comment,
    "max_silent_bytes of empty frames": endless_frames,
    "max_part_chars": endless_text,
    "max_skipped_frames": endless_nonsense,
    "max_part_chars of a bomb": bomb,
}


@pytest.mark.parametrize("limit", HOSTILE)
def test_t18_an_upstream_without_an_end_is_ended_by_a_limit_that_is_named(
    limit: str, tmp_path: Path, record_property: Any
) -> None:
    async def main(server: Served) -> None:
        before, began = resident_kb(), time.monotonic()
        _, _, data = await server.ask("Go.", protocol="ux")
        took, grown = time.monotonic() - began, resident_kb() - before
        end = json.loads(frames(data)[-1][1])
        assert end["type"] == "message_error"
        assert end["event"]["error"]["category"] == "protocol"
        assert limit.split(maxsplit=1)[0] in end["event"]["error"]["message"]
        assert grown < 64 * 1024
        assert took < 30
        text = f"T18: {limit} after {took:.2f} s, {grown / 1024:.0f} MB more"
        record_property("summary", text)

    async def run() -> None:
        async with asking(HOSTILE[limit], tmp_path) as (server, _):
            await main(server)

    asyncio.run(run())
