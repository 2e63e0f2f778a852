"""Options of a protocol in the query of a stream, and the log lines about phases."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.rehearsal.script import call, say, think, turn
from headrace.server.runs import phase_log
from tests.server.serving import frames, scripted, served

SECRET = "The blue heron."
ANSWER = " ".join(f"word-{n}" for n in range(60))
TURN = turn(think(f"{SECRET} {ANSWER}"), say(ANSWER), pace_s=0.001)
QUERY = "thinking&text_shape=openai&max_thinking_chars=20"


def test_the_options_hold_live_resumed_and_replayed(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(TURN), tmp_path) as server:
            async with server.open("Go.", protocol=QUERY) as response:
                event_id = response.headers["x-event-id"]
                first = await response.content.readuntil(b"\n\n")
                async with server.resume(event_id, frames(first)[0][0], QUERY) as resumed:
                    rest = await resumed.read()
                data = first + await response.read()
            assert data == first + rest
            await server.idle()
            async with server.resume(event_id, "0", QUERY) as replayed:
                assert await replayed.read() == data
            async with server.resume(event_id, "0", "thinking") as plain:
                bare = frames(await plain.read())
            assert [number for number, _ in bare] == [number for number, _ in frames(data)]
            _check(data)

    def _check(data: bytes) -> None:
        payloads = [msgspec.json.decode(one) for _, one in frames(data) if one != "[DONE]"]
        chunks = [one for one in payloads if "choices" in one]
        assert "".join(one["choices"][0]["delta"]["content"] for one in chunks) == ANSWER
        assert not [one for one in payloads if one.get("type") == "text_delta"]
        (complete,) = [one for one in payloads if one.get("type") == "thinking_complete"]
        assert complete["thinking"] == f"{SECRET} {ANSWER}"[:20]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("thinking&text_shape=html", "text_shape"),
        ("thinking&text_shape=", "text_shape"),
        ("thinking&max_thinking_chars=-1", "max_thinking_chars"),
        ("thinking&max_thinking_chars=many", "max_thinking_chars"),
        ("thinking&max_thinking_chars=1e3", "max_thinking_chars"),
        ("ux&text_shape=openai", "the ux protocol has no option text_shape"),
        ("ux&max_thinking_chars=5", "the ux protocol has no option max_thinking_chars"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_starts(
    query: str, told: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with served(scripted(TURN), tmp_path) as server:
            async with server.open("Go.", protocol=query) as response:
                error = (await response.json())["error"]
                assert (response.status, error["code"]) == (400, "bad_option")
                assert told in error["message"]
            assert server.service.runs.total == 0
            event_id, _, _ = await server.ask("Go.")
            async with server.resume(event_id, "0", query) as response:
                assert (response.status, (await response.json())["error"]["code"]) == (
                    400,
                    "bad_option",
                )

    asyncio.run(main())


def test_views_that_nobody_reads_are_dropped(tmp_path: Path) -> None:
    async def main() -> None:
        slow = turn(say(ANSWER), pace_s=0.05)
        async with served(scripted(slow), tmp_path) as server, server.open("Go.") as response:
            event_id = response.headers["x-event-id"]
            await response.content.readuntil(b"\n\n")
            live: Any = server.service.runs.get(event_id)
            for number in range(20):
                query = f"thinking&max_thinking_chars={number}"
                async with server.resume(event_id, "0", query) as other:
                    await other.content.readuntil(b"\n\n")
            assert len(live._broadcasts) < 6
            server.service.runs.cancel(event_id)
            await response.read()

    asyncio.run(main())


def add(a: int) -> int:
    """Add one."""
    return a + 1


def test_phases_are_logged_with_the_request_id_and_without_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headrace.server")

    async def main() -> str:
        turns = (turn(think(SECRET), say(SECRET), call("add", a=1)), turn(think("x"), say("y")))
        agent = scripted(*turns, tools=[add])
        async with served(agent, tmp_path) as server, server.open(SECRET) as response:
            await response.read()
            return str(response.headers["x-request-id"])

    request_id = asyncio.run(main())
    lines = [one.getMessage() for one in caplog.records if one.name == "headrace.server"]
    assert all(line.startswith(f"request {request_id}: ") for line in lines)
    words = [" ".join(line.split()[2:4]) for line in lines[:-1]]
    phases = ["thinking", "text", "tools", "thinking", "text"]
    assert words == [f"{phase} {what}" for phase in phases for what in ("started", "ended")]
    assert all(line.endswith(" ms") for line in lines[1::2])
    assert " finished; thinking " in lines[-1]
    assert "heron" not in caplog.text


def test_the_lines_of_a_run_are_bounded(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "headrace.server")
    monkeypatch.setattr(phase_log, "MAX_LINES", 10)
    log = phase_log.create_phase_log("r", "run")
    assert log is not None
    for part in range(100):
        kind = ev.ReasoningStarted if part % 2 else ev.TextStarted
        log.feed([ev.Record(part + 1, part, kind(part=part, output=0, item=part))])
    log.feed([ev.Record(101, 101, ev.RunClosed("committed", "m"))])
    assert len(caplog.records) == 11
    caplog.set_level(logging.WARNING, "headrace.server")
    assert phase_log.create_phase_log("r", "run") is None
