"""Questions of MCP servers to the user: requests for input of the kind `form`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace import MCP, InputRequired
from headrace import events as ev
from headrace.events import Record
from tests.mcp.play import FOLDER, agent_with, calling, text_of


async def _play(mode: str, decision: str, value: Any) -> tuple[list[ev.Event], str]:
    server = MCP([sys.executable, str(FOLDER / "asking_server.py"), mode], name="asking")
    events: list[ev.Event] = []
    try:
        async with agent_with(calling("book"), server).run("Go.") as run:
            async for event in run:
                events.append(event)
                if isinstance(event, ev.InputRequested):
                    run.answer(event.request_id, decision, value)  # type: ignore[arg-type]
    finally:
        await server.aclose()
    return events, text_of(events)


@pytest.mark.parametrize("mode", ["legacy", "modern"])
def test_a_question_is_a_form_and_its_answer_goes_to_the_server(mode: str):
    events, text = asyncio.run(_play(mode, "accepted", {"seats": 3}))
    (asked,) = [event for event in events if isinstance(event, ev.InputRequested)]
    assert asked.kind == "form"
    assert "The MCP server asking asks: How many seats?" in asked.message
    assert asked.schema is not None
    assert asked.schema["properties"]["seats"]["type"] == "integer"
    assert "3 seats" in text


@pytest.mark.parametrize("mode", ["legacy", "modern"])
def test_a_question_that_is_denied_is_declined(mode: str):
    _, text = asyncio.run(_play(mode, "denied", None))
    assert "no seats: decline" in text


def test_a_question_without_a_call_is_not_put_to_the_user_of_another_run(tmp_path: Path):
    """In the older revisions, a question does not say which call it belongs to."""
    go = tmp_path / "go"
    command = [sys.executable, str(FOLDER / "asking_server.py"), "legacy", str(go)]

    async def play(server: MCP) -> list[ev.Event]:
        async with agent_with(calling("book"), server).run("Go.") as run:
            events: list[ev.Event] = []
            async for event in run:
                events.append(event)
                if isinstance(event, ev.InputRequested):
                    run.answer(event.request_id, "accepted", {"seats": 3})
            return events

    async def main() -> list[list[ev.Event]]:
        server = MCP(command, name="asking")
        try:
            return list(await asyncio.gather(play(server), play(server)))
        finally:
            await server.aclose()

    for events in asyncio.run(main()):
        assert not any(isinstance(event, ev.InputRequested) for event in events)
        assert "no seats: cancel" in text_of(events)


def test_a_run_is_suspended_while_it_waits_and_goes_on_in_another_process(tmp_path: Path):
    """The server has ended the call to ask, so nothing needs to stay in memory."""
    count = tmp_path / "calls"
    command = [sys.executable, str(FOLDER / "asking_server.py"), "modern", str(count)]

    async def begin() -> list[Record]:
        server = MCP(command, name="asking")
        try:
            async with agent_with(calling("book"), server).run("Go.", suspends=True) as run:
                with pytest.raises(InputRequired):
                    await run.wait()
                return list(run.records_so_far)
        finally:
            await server.aclose()

    async def resume(records: list[Record]) -> str:
        server = MCP(command, name="asking")
        try:
            agent = agent_with(calling("book")[1:], server)
            async with agent.resume(records, input="Go.") as run:
                (request,) = [r.event for r in records if isinstance(r.event, ev.InputRequested)]
                run.answer(request.request_id, "accepted", {"seats": 4})
                events = [event async for event in run]
            assert isinstance(events[-1], ev.RunFinished)
            return text_of(events)
        finally:
            await server.aclose()

    records = asyncio.run(begin())
    assert isinstance(records[-1].event, ev.RunSuspended)
    assert "4 seats" in asyncio.run(resume(records))
    assert count.read_text() == "asked answered ", "the call is not sent a third time"


def test_a_call_that_was_answered_before_a_kill_is_not_sent_again(tmp_path: Path):
    count = tmp_path / "calls"
    command = [sys.executable, str(FOLDER / "asking_server.py"), "modern", str(count)]

    async def main() -> str:
        server = MCP(command, name="asking")
        try:
            async with agent_with(calling("book"), server).run("Go.") as run:
                async for event in run:
                    if isinstance(event, ev.InputRequested):
                        run.answer(event.request_id, "accepted", {"seats": 4})
            kinds = [type(record.event) for record in run.records_so_far]
            # As if the process had been killed right after the answer was written.
            records = run.records_so_far[: kinds.index(ev.InputAnswered) + 1]
            agent = agent_with(calling("book")[1:], server)
            async with agent.resume(records, input="Go.") as resumed:
                return text_of([event async for event in resumed])
        finally:
            await server.aclose()

    assert "may have" in asyncio.run(main())
    assert count.read_text() == "asked answered "
