"""What grows with a conversation is done in threads, so that other users do not wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.content import TextContent
from headrace.engine import Agent
from headrace.messages import Message
from headrace.rehearsal.script import say, turn
from headrace.server.runs import live_runs
from headrace.server.storage.store import row as tables
from tests.server.serving import scripted, served


def note_threads(function: Callable[..., Any], names: set[str]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        names.add(threading.current_thread().name)
        return function(*arguments, **options)

    return call


def test_stored_messages_are_decoded_in_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: set[str] = set()
    decode = note_threads(tables.to_stored_message, names)
    monkeypatch.setattr(tables, "to_stored_message", decode)

    async def main() -> None:
        async with served(scripted(turn(say("Yes."))), tmp_path) as server:
            _, conversation_id, _ = await server.ask("Go.")
            await server.ask("Again.", conversation_id=conversation_id)
            await server.get(f"/api/conversations/{conversation_id}")
            await server.get(f"/api/conversations/{conversation_id}/export")

    asyncio.run(main())
    assert names
    assert threading.current_thread().name not in names


@pytest.mark.parametrize("is_long", [False, True])
def test_a_long_history_is_encoded_in_a_thread(
    is_long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: set[str] = set()
    monkeypatch.setattr(Agent, "run", note_threads(Agent.run, names))
    monkeypatch.setattr(live_runs, "_MAX_HISTORY", 2 if is_long else 1_000)

    async def main() -> None:
        async with served(scripted(turn(say("Yes."))), tmp_path) as server:
            _, conversation_id, _ = await server.ask("Go.")
            names.clear()
            _, _, data = await server.ask("Again.", conversation_id=conversation_id)
            assert b"Yes." in data

    asyncio.run(main())
    assert (threading.current_thread().name in names) != is_long


def test_a_turn_of_a_long_history_is_encoded_in_a_thread() -> None:
    names: set[str] = set()
    agent = scripted(turn(say("Yes.")))
    history = [Message(role="user", content=(TextContent("Hi."),)) for _ in range(1_001)]

    async def main() -> None:
        async with agent.run("Go.", history) as run:
            config: Any = run._config  # pyright: ignore[reportPrivateUsage]
            (target,) = config.targets
            object.__setattr__(target, "encode", note_threads(target.encode, names))
            result = await run.wait()
            assert result.text == "Yes."

    asyncio.run(main())
    assert threading.current_thread().name not in names
    assert names
