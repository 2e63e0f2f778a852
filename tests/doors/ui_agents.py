"""The agents that the clients of the AI SDK and AG-UI talk to."""

from __future__ import annotations

from typing import Any

from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import call, error, refuse, say, think, turn
from headrace.tools import ExternalTool, ToolContext, tool
from headrace.transport.retry import NEVER


@tool
async def add(a: int, b: int, context: ToolContext) -> int:
    """Add two numbers."""
    context.progress("adding", progress=0.5)
    return a + b


@tool
async def fail() -> str:
    """Fail."""
    raise ValueError("it is broken")


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


SELECTION = ExternalTool(name="read_selection", description="Read what is selected.")


def agent(play: Any, tools: Any = ()) -> Agent:
    transport = ScriptedTransport(play, dialect="anthropic")
    return Agent("anthropic:test", transport=transport, api_key="k", tools=tools, policy=NEVER)


def requests_of(agent: Agent) -> list[Any]:
    """What the model was sent."""
    requests: list[Any] = agent._endpoint["transport"].requests
    return requests


def staged(*turns: Any) -> Any:
    """The turns of each run, from the first."""

    def play(heard: Heard) -> Any:
        return turns[min(len(heard.since_user), len(turns) - 1)]

    return play


def _result(heard: Heard) -> str:
    return next((m.result.text for m in reversed(heard.messages) if m.result is not None), "")


def _answer_result(name: str) -> Any:
    """Call a tool of the client, and say what it gave back."""

    def play(heard: Heard) -> Any:
        return turn(say(f"It is {_result(heard)}.")) if heard.since_user else turn(call(name))

    return play


def _say_instructions(heard: Heard) -> Any:
    return turn(say(heard.system or "nothing"))


def _echo(heard: Heard) -> Any:
    """Say all questions of the conversation."""
    return turn(say(" | ".join(m.text for m in heard.messages if m.role == "user")))


def create_agents() -> dict[str, Agent]:
    """One agent for each thing that a client can meet."""
    calls = (call("add", a=1, b=2), call("add", a=3, b=4), call("fail"))
    approval = (turn(say("I pay."), call("pay", amount=5)), turn(say("Done.")))
    slow = turn(say(pieces=[f"word {number} " for number in range(60)]), pace_s=0.02)
    helper = agent(staged(*approval), [pay])
    delegate = (turn(call("research", task="Pay.")), turn(say("Done.")))
    thinking = think("I should look it up.", signed=True)
    return {
        "all": agent(
            staged(turn(thinking, say("Let me see."), *calls), turn(say("It is 3 and 7."))),
            [add, fail],
        ),
        "echo": agent(_echo),
        "context": agent(_say_instructions),
        "approval": agent(staged(*approval), [pay]),
        "client-tool": agent(_answer_result("read_selection"), [SELECTION]),
        "front-end": agent(_answer_result("pick_color")),
        "sub-agent": agent(staged(*delegate), [helper.as_tool("research", "Find out.")]),
        "slow": agent(staged(slow)),
        "error": agent(staged(turn(say("I be"), error()))),
        "refuse": agent(staged(turn(refuse(429)))),
    }
