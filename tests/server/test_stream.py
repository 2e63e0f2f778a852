"""Streams: resumed anywhere, watched by many, cancelled by any, and ended once."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.engine import Run
from headrace.projections.registry import PROTOCOLS
from headrace.rehearsal.script import say, think, turn
from headrace.server.http.routes import conversations
from tests.server.serving import Served, frames, scripted, served
from tests.server.stored_records import cut_records, stored_records

THOUGHT = " ".join(f"thought-{n}" for n in range(120))
ANSWER = " ".join(f"word-{n}" for n in range(150))
LONG = turn(think(f"Let me see. {THOUGHT}"), say(ANSWER))
ENDS = {end for protocol in PROTOCOLS.values() for end in protocol.ends}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_resumed_after_each_frame_gives_the_rest_byte_for_byte(
    protocol: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with served(scripted(LONG), tmp_path) as server:
            event_id, _, whole = await server.ask("Go.", protocol=protocol)
            await server.idle()
            ids = [number for number, _ in frames(whole)]
            assert len(ids) > 100
            for number in ids:
                async with server.resume(event_id, number, protocol) as response:
                    rest = await response.read()
                head = whole.index(f"id: {number}\n".encode())
                end = whole.index(b"\n\n", head) + 2
                assert rest == whole[end:]

    asyncio.run(main())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_cut_inside_any_frame_while_it_runs_goes_on_without_loss(
    protocol: str, tmp_path: Path
) -> None:
    """The client drops the half frame, reconnects with the last id it has seen whole."""
    chance = random.Random(6)

    async def main() -> None:
        agent = scripted(turn(think("Let me see."), say(ANSWER), pace_s=0.002))
        async with served(agent, tmp_path) as server:
            for _ in range(12):
                await _cut_and_resume(server, protocol, chance.randrange(1, 6_000))

    async def _cut_and_resume(server: Served, protocol: str, size: int) -> None:
        async with server.open("Go.", protocol=protocol) as response:
            event_id = response.headers["x-event-id"]
            data = b""
            async for chunk in response.content.iter_any():
                data += chunk
                if len(data) >= size:
                    break
        whole_frames = data[: data.rfind(b"\n\n") + 2] if b"\n\n" in data else b""
        last = frames(whole_frames)[-1][0] if whole_frames else "0"
        async with server.resume(event_id, last, protocol) as response:
            rest = await response.read()
        async with server.resume(event_id, "0", protocol) as response:
            assert whole_frames + rest == await response.read()

    asyncio.run(main())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_whoever_has_seen_more_than_there_is_is_told_so(protocol: str, tmp_path: Path) -> None:
    """A power cut takes the last records; an empty end would make a client ask for ever."""

    async def main() -> None:
        async with served(scripted(LONG), tmp_path) as server:
            event_id, conversation_id, whole = await server.ask("Go.", protocol=protocol)
            await server.idle()
            last = frames(whole)[-1][0]
            seq, _, place = last.partition("-")[0].partition(".")
            named = f"{seq}.{int(place) + 1}-{protocol}"
            for beyond in (
                named,
                f"{seq}.{int(place) + 1}",
                f"{int(seq) + 1}.1",
                "99999.1",
                "99999",
            ):
                async with server.resume(event_id, beyond, protocol) as response:
                    error = (await response.json())["error"]
                    assert (response.status, error["code"]) == (410, "unknown_frame")
                    assert error["conversation_id"] == conversation_id
            async with server.resume(event_id, last, protocol) as response:
                assert (response.status, await response.read()) == (200, b"")

    asyncio.run(main())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_frame_that_a_live_run_has_not_sent_is_not_waited_behind(
    protocol: str, tmp_path: Path
) -> None:
    async def main() -> None:
        agent = scripted(turn(say(ANSWER), pace_s=0.02))
        async with served(agent, tmp_path) as server, server.open("Go.", protocol=protocol) as run:
            event_id = run.headers["x-event-id"]
            first = await run.content.readuntil(b"\n\n")
            for other in PROTOCOLS:
                async with server.resume(event_id, "9999.1", other) as response:
                    assert response.status == 410
                    assert (await response.json())["error"]["code"] == "unknown_frame"
            number = frames(first)[0][0]
            async with server.resume(event_id, number, protocol) as response:
                assert response.status == 200
                assert await response.content.readany()

    asyncio.run(main())


def test_what_a_power_cut_took_from_a_client_sends_it_to_the_conversation(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(LONG), tmp_path) as server:
            event_id, conversation_id, whole = await server.ask("Go.", protocol="ux")
            await server.idle()
            run = await server.service.store.run("local", event_id)
        path = tmp_path / "headrace.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            cut_records(file, run.id, 20)
            file.execute("DELETE FROM messages WHERE run_id = ?", (run.id,))
            file.execute("UPDATE runs SET state = 'live', closed_ms = NULL WHERE id = ?", (run.id,))
        async with served(scripted(LONG), tmp_path) as server:
            seen = frames(whole)[-2][0]
            async with server.resume(event_id, seen, "ux") as response:
                error = (await response.json())["error"]
            assert error["conversation_id"] == conversation_id
            _, found = await server.get(f"/api/conversations/{conversation_id}")
            assert found["messages"][-1]["event"]["error"]["category"] == "interrupted"

    asyncio.run(main())


def test_disconnecting_never_cancels_a_run(tmp_path: Path) -> None:
    async def main() -> None:
        agent = scripted(turn(say(ANSWER), pace_s=0.002))
        async with served(agent, tmp_path) as server:
            async with server.open("Go.") as response:
                event_id = response.headers["x-event-id"]
                await response.content.readany()
            await server.idle()
            async with server.resume(event_id) as response:
                assert frames(await response.read())[-2][1].startswith('{"type":"done"')

    asyncio.run(main())


def test_a_cancel_ends_the_run_for_every_watcher_alike_and_before_its_end(
    tmp_path: Path, record_property: Any
) -> None:
    async def main() -> None:
        agent = scripted(turn(say(ANSWER), pace_s=0.02))
        async with served(agent, tmp_path) as server:
            took_s = [await _cancelled(server) for _ in range(7)]
        told = ", ".join(f"{1000 * one:.0f}" for one in sorted(took_s))
        record_property("summary", f"a cancel, until four watchers have its end: {told} ms")

    async def _cancelled(server: Served) -> float:
        time = asyncio.get_running_loop().time
        async with server.open("Go.") as response:
            event_id = response.headers["x-event-id"]
            seen = await response.content.readany()
            others = [asyncio.ensure_future(_read(server, event_id)) for _ in range(3)]
            await asyncio.sleep(0.05)
            before_s = time()
            async with server.http.post(f"{server.url}/api/chat/{event_id}/cancel") as cancel:
                assert (await cancel.json())["was_live"] is True
            data = seen + await response.read()
            assert [await one for one in others] == [data] * 3
            took_s = time() - before_s
        assert frames(data)[-2][1].startswith('{"type":"cancelled"')
        text_end = next(frame for _, frame in frames(data) if '"text_end"' in frame)
        assert '"finish_reason":"cancelled"' in text_end
        assert b"word-140" not in data
        return took_s

    asyncio.run(main())


def test_to_delete_a_conversation_stops_what_is_written_to_it(tmp_path: Path) -> None:
    async def main() -> None:
        agent = scripted(turn(say(ANSWER), pace_s=0.02))
        async with served(agent, tmp_path) as server, server.open("Go.") as response:
            conversation_id = response.headers["x-conversation-id"]
            seen = await response.content.readany()
            path = f"{server.url}/api/conversations/{conversation_id}"
            again = server.open("Go on.", conversation_id=conversation_id, is_branch=True)
            async with again as other, server.http.delete(path) as deleted:
                assert deleted.status == 204, await deleted.text()
                seen += await response.read()
                for data in (seen, await other.read()):
                    assert frames(data)[-2][1].startswith('{"type":"cancelled"')
            assert server.service.runs.count == 0
            async with server.http.get(path) as gone:
                assert gone.status == 404
            assert await server.service.database.read(stored_records) == {}

    asyncio.run(main())


def test_a_conversation_whose_answer_does_not_stop_stays_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        agent = scripted(turn(say(ANSWER), pace_s=0.005))
        async with served(agent, tmp_path) as server, server.open("Go.") as response:
            event_id = response.headers["x-event-id"]
            path = f"{server.url}/api/conversations/{response.headers['x-conversation-id']}"
            async with server.http.delete(path) as refused:
                assert refused.status == 409
                error = (await refused.json())["error"]
            assert (error["code"], error["event_id"]) == ("run_live", event_id)
            assert "has not stopped" in error["message"]
            assert frames(await response.read())[-1][1] == "[DONE]"
            async with server.http.delete(path) as deleted:
                assert deleted.status == 204

    monkeypatch.setattr(conversations, "_CANCEL_S", 0.05)
    monkeypatch.setattr(Run, "cancel", lambda *_: None)
    asyncio.run(main())


async def _read(server: Served, event_id: str) -> bytes:
    async with server.resume(event_id) as response:
        return bytes(await response.read())


def test_random_comings_and_goings_give_each_watcher_one_end(tmp_path: Path) -> None:
    """Disconnect, reconnect, cancel, second watchers: 200 orders of them."""

    async def main() -> None:
        agent = scripted(turn(think("Hm."), say("one two three four five six"), pace_s=0.001))
        async with served(agent, tmp_path, max_live_runs=500) as server:
            for seed in range(0, 200, 20):
                await asyncio.gather(*(_one(server, random.Random(seed + n)) for n in range(20)))
            await server.idle()
            assert server.service.store.message_writes == 200

    async def _one(server: Served, chance: random.Random) -> None:
        async with server.open("Go.") as response:
            event_id = response.headers["x-event-id"]
            if chance.random() < 0.5:
                await response.content.readany()
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(chance.random() * 0.01)
            if chance.random() < 0.3:
                async with server.http.post(f"{server.url}/api/chat/{event_id}/cancel"):
                    pass
            else:
                async with server.resume(event_id) as response:
                    await response.content.readany()
        seen = await asyncio.gather(*(_read(server, event_id) for _ in range(2)))
        assert seen[0] == seen[1]
        kinds = [data for _, data in frames(seen[0])]
        assert sum(any(f'"type":"{end}"' in kind for end in ENDS) for kind in kinds) == 1
        assert kinds[-1] == "[DONE]"

    asyncio.run(main())


def test_the_same_key_is_the_same_run_and_another_body_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("Hi."))), tmp_path) as server:
            key = {"idempotency-key": "k-1"}
            async with server.open("Go.", headers=key) as response:
                first = response.headers["x-event-id"], await response.read()
            async with server.open("Go.", headers=key) as response:
                assert (response.headers["x-event-id"], await response.read()) == first
            async with server.open("Stop.", headers=key) as response:
                assert response.status == 422
                assert (await response.json())["error"]["code"] == "key_taken"

    asyncio.run(main())


def test_while_the_server_drains_an_accepted_question_is_answered_and_a_new_one_is_not(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        agent = scripted(turn(say(ANSWER), pace_s=0.002))
        async with served(agent, tmp_path) as server:
            key = {"idempotency-key": "k-1"}
            async with server.open("Go.", headers=key) as response:
                event_id = response.headers["x-event-id"]
                await response.content.readany()
            draining = asyncio.ensure_future(server.service.runs.drain(10))
            await asyncio.sleep(0)
            seen = []
            for _ in range(2):  # while it goes on, and from its log
                async with server.open("Go.", headers=key) as again:
                    assert again.status == 200
                    assert again.headers["x-event-id"] == event_id
                    seen.append(await again.read())
                await draining
            assert seen[0] == seen[1]
            assert frames(seen[0])[-1][1] == "[DONE]"
            for other in ({}, {"idempotency-key": "k-2"}):
                async with server.open("Go.", headers=other) as refused:
                    assert refused.status == 503
                    assert (await refused.json())["error"]["code"] == "stopping"
            async with server.open("Stop.", headers=key) as refused:
                assert refused.status == 422

    asyncio.run(main())


def test_many_requests_with_the_same_key_at_once_watch_the_same_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("Hi."))), tmp_path) as server:
            for number in range(10):
                key = {"idempotency-key": f"k-{number}"}
                seen = await asyncio.gather(*(_asked(server, key) for _ in range(8)))
                assert len(set(seen)) == 1
                assert frames(seen[0])[-1][1] == "[DONE]"

    async def _asked(server: Served, key: dict[str, str]) -> bytes:
        async with server.open("Go.", headers=key) as response:
            assert response.status == 200, await response.text()
            return bytes(await response.read())

    asyncio.run(main())


def test_a_second_message_under_a_live_run_is_refused_and_names_it(tmp_path: Path) -> None:
    async def main() -> None:
        agent = scripted(turn(say(ANSWER), pace_s=0.01))
        async with served(agent, tmp_path) as server, server.open("Go.") as response:
            event_id = response.headers["x-event-id"]
            conversation_id = response.headers["x-conversation-id"]
            async with server.open("More.", conversation_id=conversation_id) as second:
                assert second.status == 409
                assert (await second.json())["error"]["event_id"] == event_id
            branch: Any = {"conversation_id": conversation_id, "is_branch": True}
            async with server.open("More.", **branch) as third:
                assert third.status == 200

    asyncio.run(main())


def test_a_slow_reader_is_let_go_and_the_others_are_not_touched(tmp_path: Path) -> None:
    async def main() -> None:
        agent = scripted(turn(say("x" * 400_000, deltas=2_000), pace_s=0.001))
        async with served(agent, tmp_path, send_timeout_s=0.3) as server:
            stuck = server.open("Go.")
            response = await stuck
            event_id = response.headers["x-event-id"]
            data = await _read(server, event_id)
            assert frames(data)[-1][1] == "[DONE]"
            await asyncio.sleep(0.5)
            async with server.resume(event_id) as again:
                assert await again.read() == data
            response.close()

    asyncio.run(main())
