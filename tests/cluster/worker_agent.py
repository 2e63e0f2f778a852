"""An agent for workers: `headrace serve tests.cluster.worker_agent:agent`. It waits in a tool, and
then repeats the last words that it was told, slowly."""

from __future__ import annotations

import asyncio
from typing import Any

from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import call, say, think, turn
from headrace.tools import ToolContext, tool
from headrace.transport.retry import NEVER


@tool
async def wait(context: ToolContext) -> str:
    """Wait."""
    await asyncio.sleep(0.5)
    return "done"


def _play(heard: Heard) -> Any:
    if not any(message.result is not None for message in heard.messages):
        return turn(think("I wait first."), call("wait"))
    words = [f"{word} " for word in "one two three four five six".split()]
    return turn(say(pieces=[*words * 8, f"I heard: {heard.user}"]), pace_s=0.02)


def _play_slowly(heard: Heard) -> Any:
    return turn(think("I take my time."), say(pieces=["slowly "] * 200), pace_s=0.2)


agent: Agent = Agent(
    "vllm:worker",
    transport=ScriptedTransport(_play, keeps_requests=False),
    tools=[wait],
    policy=NEVER,
)
slow_agent: Agent = Agent(
    "vllm:worker", transport=ScriptedTransport(_play_slowly, keeps_requests=False), policy=NEVER
)
"""Answers for longer than a test lets it."""
