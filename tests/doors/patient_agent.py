"""An agent whose tool takes so long that its server can be killed meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from headrace.engine import Agent
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import call, say, think, turn
from headrace.tools import tool
from headrace.transport.retry import NEVER


@tool(is_idempotent=True)
async def wait() -> str:
    """Wait a little."""
    await asyncio.sleep(1.5)
    return "waited"


def _play(heard: Any) -> Any:
    if heard.since_user:
        return turn(say("All done."))
    return turn(think("I must wait."), call("wait"))


agent = Agent(
    "openai:gpt-5",
    transport=ScriptedTransport(_play, dialect="responses"),
    api_key="k",
    tools=[wait],
    policy=NEVER,
)
