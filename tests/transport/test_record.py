"""Record and replay: the bytes, the timing, and never a key."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from headrace.errors import UsageError
from headrace.recording import RecordingTransport, ReplayTransport
from headrace.transport import HTTPCall, StreamBroken
from headrace.transport.http import HTTPTransport
from tests.transport.upstream import (
    END,
    KEY,
    Peer,
    answering,
    call_to,
    chunked,
    halves_of,
    head,
    upstream,
)

CALL = call_to("http://127.0.0.1:1/v1/chat?key=QUERY-CANARY-1234")


def replayed(transport: ReplayTransport) -> list[bytes]:
    async def run():
        return [read async for read in await transport.open(CALL)]

    return asyncio.run(run())


class VirtualTime:
    """A clock that only sleeping moves."""

    def __init__(self, overshoot_s: float = 0.0) -> None:
        self.now_s = 100.0
        self.overshoot_s = overshoot_s

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds + self.overshoot_s


@pytest.mark.parametrize(("speed", "seconds"), [(1.0, 0.6), (2.0, 0.3), (0.5, 1.2), (None, 0)])
def test_a_replay_keeps_or_scales_the_timing(speed, seconds):
    time = VirtualTime()
    reads = [b"a", b"b", b"c", b"d"]
    transport = ReplayTransport(reads, [100, 200, 300], speed=speed, sleep=time.sleep, clock=time)
    assert replayed(transport) == reads
    assert time.now_s - 100 == pytest.approx(seconds)


def test_sleeps_that_are_too_long_do_not_add_up():
    time = VirtualTime(overshoot_s=0.004)
    reads = [b"x"] * 100
    replayed(ReplayTransport(reads, [10] * 100, sleep=time.sleep, clock=time))
    assert time.now_s - 100 == pytest.approx(1.0, abs=0.01)


def test_every_open_replays_from_the_start():
    transport = ReplayTransport([b"a", b"", b"b"])
    assert replayed(transport) == replayed(transport) == [b"a", b"b"]


def test_a_closed_replay_ends():
    async def run():
        stream = await ReplayTransport([b"a", b"b"]).open(CALL)
        first = await anext(stream)
        await stream.aclose()
        return first, [read async for read in stream]

    assert asyncio.run(run()) == (b"a", [])


def test_a_speed_of_nothing_is_a_usage_error():
    with pytest.raises(UsageError, match="speed"):
        ReplayTransport([], speed=0)


@pytest.mark.parametrize("text", ["{", "[]", '{"lens": [-1]}', '{"lens": [1], "ms": []}'])
def test_a_list_of_reads_that_is_none_is_a_usage_error(tmp_path, text):
    file = tmp_path / "a.sse"
    file.write_bytes(b"x")
    (tmp_path / "a.sse.chunks.json").write_text(text)
    with pytest.raises(UsageError, match=r"a\.sse\.chunks\.json"):
        ReplayTransport.from_file(file)


def test_a_file_without_a_list_is_replayed_whole(tmp_path):
    (tmp_path / "a.sse").write_bytes(b"x" * 100_000)
    assert [len(read) for read in replayed(ReplayTransport.from_file(tmp_path / "a.sse"))] == [
        65_536,
        34_464,
    ]


def recorded(file, inner, call=CALL, clock=None):
    """Read through a recorder."""
    options = {} if clock is None else {"clock": clock}

    async def run():
        transport = RecordingTransport(inner, file, **options)
        stream = await transport.open(call)
        try:
            return [read async for read in stream]
        finally:
            await stream.aclose()
            await transport.aclose()

    return asyncio.run(run())


def test_what_is_recorded_is_replayed_with_its_timing(tmp_path):
    time = VirtualTime()
    reads, pauses = [b"data: 1\n\n", b"data: ", b"2\n\n"], [40.0, 0.0, 15.5]
    inner = ReplayTransport(reads, pauses, sleep=time.sleep, clock=time)
    assert recorded(tmp_path / "a.sse", inner, clock=time) == reads
    assert (tmp_path / "a.sse").read_bytes() == b"".join(reads)
    listed = msgspec.json.decode((tmp_path / "a.sse.chunks.json").read_bytes())
    assert listed["lens"] == [9, 6, 3]
    assert listed["ms"] == pytest.approx(pauses, abs=0.01)
    assert replayed(ReplayTransport.from_file(tmp_path / "a.sse", speed=None)) == reads


def test_a_second_stream_gets_a_name_of_its_own(tmp_path):
    async def run():
        transport = RecordingTransport(ReplayTransport([b"x"]), tmp_path / "a.sse")
        for _ in range(2):
            stream = await transport.open(CALL)
            assert [read async for read in stream] == [b"x"]

    asyncio.run(run())
    assert {path.name for path in tmp_path.iterdir()} == {
        *("a.sse", "a.sse.chunks.json", "a.sse.request.json"),
        *("a-2.sse", "a-2.sse.chunks.json", "a-2.sse.request.json"),
    }


@pytest.mark.parametrize("how", ["break", "close", "cancel"])
def test_what_came_before_an_early_end_is_kept(tmp_path, how):
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"abc"))
        if how != "break":
            await peer.wait_gone()

    async def run():
        async with upstream(answer) as server, HTTPTransport() as http:
            stream = await RecordingTransport(http, tmp_path / "a").open(call_to(server.url))
            assert await anext(stream) == b"abc"
            if how == "break":
                with pytest.raises(StreamBroken):
                    await anext(stream)
            elif how == "close":
                await stream.aclose()
            else:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(stream), 0.05)
            assert msgspec.json.decode((tmp_path / "a.chunks.json").read_bytes())["lens"] == [3]
            await stream.aclose()

    asyncio.run(run())
    assert (tmp_path / "a").read_bytes() == b"abc"


def test_a_refused_call_leaves_no_file(tmp_path):
    async def run():
        async with upstream(answering(b"")) as server, HTTPTransport() as http:
            await RecordingTransport(http, tmp_path / "a").open(call_to(server.url))

    with pytest.raises(Exception, match="127"):
        asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


def test_no_key_is_ever_written(tmp_path):
    body = {
        "model": "m",
        "max_tokens": 5,
        "mcp_servers": [{"url": "u", "authorization_token": "MCP-CANARY-1"}],
        "tools": [{"headers": {"Authorization": "Bearer MCP-CANARY-2"}}],
        "messages": [{"role": "user", "content": f"my key is {KEY}"}],
    }
    headers = {**CALL.headers, "cookie": "COOKIE-CANARY-1", "user-agent": "ua"}
    url = "http://user:USER-CANARY-1@h/v1/chat?key=QUERY-CANARY-1234&alt=sse"
    call = HTTPCall(url=url, headers=headers, body=msgspec.json.encode(body))
    echo = f"data: {KEY}\n\n".encode()
    reads = [echo, echo[:15], echo[15:]]
    assert recorded(tmp_path / "a.sse", ReplayTransport(reads), call) == reads
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert len(written) == 3
    for text in written.values():
        assert "CANARY" not in text
    assert len(written["a.sse"]) == 2 * len(echo)
    request = msgspec.json.decode(written["a.sse.request.json"])
    assert request["url"] == "http://h/v1/chat"
    assert request["headers"] == {"content-type": "application/json", "user-agent": "ua"}
    assert request["body"]["max_tokens"] == 5
    assert request["body"]["mcp_servers"] == [{"url": "u", "authorization_token": "[secret]"}]


@pytest.mark.parametrize("pad_bytes", [0, 300_000])
def test_whoever_kills_it_between_two_reads_finds_no_half_of_a_key(tmp_path, pad_bytes):
    pad = b"." * pad_bytes
    data = pad + f"data: {KEY}\n\n".encode() + pad

    async def run(cut):
        inner = ReplayTransport([data[:cut], data[cut:]])
        file = tmp_path / f"{cut}.sse"
        stream = await RecordingTransport(inner, file).open(CALL)
        for _ in range(2):
            await anext(stream)
            assert halves_of(KEY, file.read_bytes()) == []
        await stream.aclose()
        assert len(file.read_bytes()) == len(data)

    for cut in range(pad_bytes + 1, pad_bytes + len(KEY) + 6):
        asyncio.run(run(cut))


def test_what_ends_in_the_middle_of_a_key_ends_without_it(tmp_path):
    for end in range(len(KEY)):
        reads = [b"data: ", KEY[:end].encode()]
        file = tmp_path / f"{end}.sse"
        recorded(file, ReplayTransport([read for read in reads if read]))
        assert halves_of(KEY, file.read_bytes()) == []
        assert len(file.read_bytes()) == 6 + end


@pytest.mark.parametrize("body", [b"\xffCANARY", b'"\xffCANARY"', b"[" * 100_000 + b"CANARY"])
def test_a_body_that_is_no_json_is_not_written(tmp_path, body):
    call = HTTPCall(url="http://h/", headers={}, body=body)
    recorded(tmp_path / "a", ReplayTransport([b"x"]), call)
    assert "CANARY" not in (tmp_path / "a.request.json").read_text()


def test_a_recording_over_a_socket_has_real_pauses(tmp_path):
    async def answer(peer: Peer) -> None:
        await peer.send(head() + chunked(b"a"))
        await asyncio.sleep(0.05)
        await peer.send(chunked(b"b") + END)

    async def run():
        async with upstream(answer) as server, HTTPTransport() as http:
            stream = await RecordingTransport(http, tmp_path / "a").open(call_to(server.url))
            return [read async for read in stream]

    assert asyncio.run(run()) == [b"a", b"b"]
    listed = msgspec.json.decode((tmp_path / "a.chunks.json").read_bytes())
    assert listed["lens"] == [1, 1]
    assert 20 < listed["ms"][1] < 60_000


class Held:
    """A stream that knows whether it was closed."""

    def __init__(self) -> None:
        self.request_id: str | None = None
        self.first_event_by_s: float | None = None
        self.is_closed = False

    async def open(self, call: HTTPCall) -> Held:
        return self

    def __aiter__(self) -> Held:
        return self

    async def __anext__(self) -> bytes:
        return b"data: x\n\n" * 10_000

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_a_full_disk_does_not_keep_the_provider_s_connection():
    async def run() -> bool:
        held = Held()
        stream = await RecordingTransport(held, "/dev/full").open(CALL)
        with pytest.raises(OSError, match="No space left"):
            await anext(stream)
        with suppress(OSError):
            await stream.aclose()
        return held.is_closed

    assert asyncio.run(run())
