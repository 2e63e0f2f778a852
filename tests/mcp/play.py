"""Agents with MCP servers on the scripted model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from headrace import MCP, Agent
from headrace import events as ev
from headrace.encoders.text_content import to_text
from headrace.rehearsal.script import ScriptedTurn, call, say, turn
from headrace.rehearsal.transport import ScriptedTransport

FOLDER = Path(__file__).resolve().parent
DEMO = (sys.executable, str(FOLDER / "demo_server.py"))
HOSTILE = (sys.executable, str(FOLDER / "hostile_server.py"))
MODEL = "openai-chat:gpt-5"


def agent_with(script: Sequence[ScriptedTurn], *tools: Any, **options: Any) -> Agent:
    """Return an agent on the scripted model."""
    return Agent(
        MODEL, tools=tools, transport=ScriptedTransport(list(script)), api_key="k", **options
    )


def calling(name: str, /, **arguments: Any) -> list[ScriptedTurn]:
    """Return a script that calls one tool and then ends."""
    return [turn(call(name, **arguments)), turn(say("Done."))]


async def play(agent: Agent, question: str = "Go.") -> list[ev.Event]:
    """Run the agent to its end, and return the events."""
    async with agent.run(question) as run:
        return [event async for event in run]


def result_of(events: Sequence[ev.Event]) -> ev.ToolResult:
    """Return the only result of a tool."""
    (result,) = [event for event in events if isinstance(event, ev.ToolResult)]
    return result


def text_of(events: Sequence[ev.Event]) -> str:
    """Return the text of the only result of a tool."""
    return to_text(result_of(events).content)


@asynccontextmanager
async def open_server(*command: str, **options: Any):
    """Yield a server that is closed at the end."""
    server = MCP(list(command), **{"name": "demo", **options})
    try:
        yield server
    finally:
        await server.aclose()
