"""An agent with slow tools, an approval and a sub-agent, for servers that are killed:
`headrace serve tests.server.resumable_agent:agent`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import call, say, think, turn
from headrace.tools import ToolContext, tool
from headrace.transport.retry import NEVER

_JOURNAL = Path(os.environ.get("HEADRACE_TEST_JOURNAL", os.devnull))


def _note(name: str, context: ToolContext) -> None:
    """Write down that a body runs, where a kill cannot undo it."""
    with _JOURNAL.open("a") as journal:
        journal.write(f"{name} {context.idempotency_key}\n")


@tool(needs_approval=True)
async def pay(amount: int, context: ToolContext) -> str:
    """Pay."""
    _note("pay", context)
    await asyncio.sleep(0.05)
    return f"paid {amount}"


@tool
async def send(context: ToolContext) -> str:
    """Send a letter, which cannot be taken back."""
    _note("send", context)
    await asyncio.sleep(0.05)
    return "sent"


@tool(is_idempotent=True)
async def look(context: ToolContext) -> str:
    """Look something up."""
    await asyncio.sleep(0.05)
    return "found"


def _play(*stages: tuple[str, Any]) -> ScriptedTransport:
    def answer(heard: Heard) -> Any:
        known = {message.result.name for message in heard.messages if message.result is not None}
        return next(played for name, played in stages if name not in known)

    return ScriptedTransport(answer, keeps_requests=False)


_helper: Agent = Agent(
    "vllm:helper",
    transport=_play(
        ("look", turn(think("I look for it, slowly."), call("look"), pace_s=0.005)),
        ("send", turn(call("send"), pace_s=0.005)),
        ("", turn(say("The helper has found it."), pace_s=0.005)),
    ),
    tools=[look, send],
    policy=NEVER,
)
agent: Agent = Agent(
    "vllm:main",
    transport=_play(
        (
            "research",
            turn(think("Two things."), call("research", task="x"), call("send"), pace_s=0.005),
        ),
        ("pay", turn(say("Now I pay."), call("pay", amount=5), pace_s=0.005)),
        ("", turn(say("All is done and paid for, as you wished."), pace_s=0.01)),
    ),
    tools=[pay, send, _helper.as_tool("research", "Find something out.")],
    policy=NEVER,
)
