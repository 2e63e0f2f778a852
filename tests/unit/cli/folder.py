"""Data folders for the tests of the command line, written by a real server."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace.rehearsal.script import call, say, think, turn
from tests.server.serving import scripted, served


def weather(city: str) -> str:
    """The weather of a city."""
    return f"It rains in {city}."


TURNS: tuple[Any, ...] = (
    turn(think("Oslo, so I look."), say("Let me look."), call("weather", city="Oslo")),
    turn(think("Rain then."), say("Take an umbrella.")),
)


def kept(folder: Path, *questions: str, turns: tuple[Any, ...] = TURNS) -> list[str]:
    """Ask each question in one conversation; the ids of the answers."""

    async def ask_all() -> list[str]:
        async with served(scripted(*turns, tools=[weather]), folder) as server:
            answers: list[str] = []
            more: dict[str, Any] = {}
            for question in questions or ("What is it like in Oslo?",):
                message_id, conversation_id, _ = await server.ask(question, **more)
                more = {"conversation_id": conversation_id}
                answers.append(message_id)
                await server.idle()
            return answers

    return asyncio.run(ask_all())


def run_of(folder: Path, message_id: str) -> str:
    """The id of a run."""
    query = "SELECT id FROM runs WHERE message_id = ?"
    with closing(sqlite3.connect(folder / "headrace.db")) as connection:
        (found,) = connection.execute(query, (message_id,)).fetchone()
    return str(found)


def change(folder: Path, *statements: str) -> None:
    """Do something to the file."""
    with closing(sqlite3.connect(folder / "headrace.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)
