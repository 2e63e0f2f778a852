"""Agents for the terminal's tests. A scripted model waits at its gates until the test opens them,
so that every state of the screen can be looked at for as long as that takes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from headrace import tool
from headrace.engine import Agent, ToolContext
from headrace.testing import (
    Heard,
    Line,
    ScriptedTransport,
    call,
    error,
    say,
    stall,
    think,
    turn,
    wait,
)
from headrace.transport.retry import NEVER

HOSTILE: Final = (
    "\x1b]0;stolen title\x07\x1b]52;c;c3RvbGVu\x1b\\\x1b[2J\x1b[1;1Hmoved\x9b31m"
    "\x1b[?1049h\x1b[8m\x90q\x9c\u202edesrever\u2066\x07\x08\r"
)
"""A title, the clipboard, the cursor, another screen, hidden text, another direction."""
ANSWER: Final = """\
About **55 kW**, with a *breastshot* wheel and a quarter lost on the way.

| Measured | |
|---|---|
| flow | 2.4 m³/s |
| head | 3.1 m |

1. Open the sluice.
2. Watch the level.

```python
def power_kw(flow: float, head: float) -> float:
    return 9.81 * flow * head * 0.75
```

> Water never tires.
"""
WIDE: Final = "水車は水の力で回る。" * 6 + "\n\n" + "🔬 mélange 한국어 " * 8 + "\n"
THOUGHTS: Final = (
    "A mill lives on two numbers: how much water comes, and how far it falls.",
    "The Weser has plenty of the first and little of the second.",
    "An undershot wheel wastes most of what a slow river gives.",
    "A breastshot wheel would do better with a head of three metres.",
    "Losses in bearings and gears take a quarter of it, to be careful.",
    "I should not guess the flow when there is a tool that measures it.",
    "So the flow and the head first, then the power.",
)


async def gate(number: float) -> None:
    """Until somebody opens it."""
    path = Path(f"gate{number:g}")
    while number and not path.exists():
        await asyncio.sleep(0.01)


async def survey(river: str, context: ToolContext) -> str:
    """Measure a river."""
    context.progress("sounding", progress=0.25, log="left bank\n")
    await gate(4)
    context.progress("sounding", progress=0.75, log="right bank\n")
    await gate(5)
    return "2.4 m³/s over 3.1 m"


def hostile_tool(text: str) -> str:
    """Gives back what it gets."""
    return text


@tool(needs_approval=True)
async def pay(amount: int, to: str, context: ToolContext) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


async def consult(kind: str, context: ToolContext) -> str:
    """Ask the user a text, or numbers."""
    schema = {"type": "object", "properties": {"head": {"type": "number"}}, "required": ["head"]}
    said = await context.ask(f"Which {kind}?", schema if kind == "form" else None)
    return f"got {said}"


def _request(heard: Heard, name: str) -> list[Line | str]:
    """Calls a tool that asks, as often as the question says, and tells its results."""
    results = [one.result for one in heard.since_user if one.result is not None]
    if len(results) < len(heard.user.split()) - 1:
        word = heard.user.split()[len(results) + 1]
        if name == "consult":
            return [call("consult", kind=word)]
        return [call("pay", amount=int(word), to=HOSTILE if word == "666" else "the miller")]
    return [say("Results: " + "; ".join(result.text for result in results))]


def _play(heard: Heard) -> list[Line | str]:
    name = heard.user.split()[0] if heard.user.split() else ""
    results = [one.result for one in heard.since_user if one.result is not None]
    if name == "survey":
        return _answered() if results else _thought()
    if name == "hostile":
        return _hostile_answer() if results else _hostile_call()
    if name == "half-pay" and not results:
        return [say("Before the payment.\n\n"), wait(9), *_request(heard, "pay")]
    if name in ("pay", "consult", "half-pay"):
        return _request(heard, name)
    return _PLAYS.get(name, [say(f"You said: {heard.user}")])


def _thought() -> list[Line | str]:
    return [
        wait(1),
        think("The river decides how much power there is.", title="Reading the question"),
        wait(2),
        think(" ".join(THOUGHTS), title="Weighing the flow"),
        wait(3),
        call("survey", river="Weser"),
    ]


def _answered() -> list[Line | str]:
    head, _, rest = ANSWER.partition("```python\n")
    code, _, tail = rest.partition("\n```")
    return [
        think("That is enough for a small mill.", title="Checking the results"),
        wait(6),
        say(head),
        say("```python\n" + code),
        wait(7),
        say("\n```" + tail),
        wait(8),
    ]


def _hostile_call() -> list[Line | str]:
    return [
        think(f"Thinking {HOSTILE} on.", title=f"Title {HOSTILE}"),
        wait(1),
        call("hostile_tool", text=f"given {HOSTILE}"),
    ]


def _hostile_answer() -> list[Line | str]:
    said = f"Before {HOSTILE} after.\n\n`code {HOSTILE}`\n\n[link](https://example.org/{HOSTILE})\n"
    return [say(said), wait(2), say(pieces=["\n\x1b", "]0;split title", "\x07end\n"])]


def _paragraph(number: int) -> str:
    return f"Paragraph {number}: " + " ".join(f"p{number}w{at}" for at in range(60)) + ".\n\n"


def _slowly(*texts: str) -> list[Line | str]:
    """Each text in two halves, and a gate behind every half."""
    halves = [half for text in texts for half in (text[: len(text) // 2], text[len(text) // 2 :])]
    return [line for at, half in enumerate(halves, 1) for line in (say(half), wait(at))]


_PLAYS: Final[dict[str, list[Line | str]]] = {
    "answer": [say(ANSWER)],
    "wide-stream": _slowly(*map(_paragraph, range(1, 5))),
    "deep-thought": [think(" ".join(THOUGHTS)), wait(1), *_slowly(*map(_paragraph, range(1, 3)))],
    "wide": [think(WIDE), wait(1), say(WIDE), wait(2)],
    "fail": [say("Half of "), error("overloaded", "Too many mills.")],
    "many": [
        say(
            "\n\n".join(f"Paragraph {number} of the long answer." for number in range(80)),
            deltas=40,
        ),
        wait(1),
    ],
    "stall": [think("It will not go on."), say("First words.\n\nIt stops here"), stall()],
    "half": [say("First paragraph.\n\nThe second is cut"), wait(1), say(" here, and goes on.")],
}

agent = Agent(
    "openai-chat:scripted",
    tools=[survey, hostile_tool, pay, consult],
    transport=ScriptedTransport(lambda heard: turn(*_play(heard)), sleep=gate),
    api_key="none",
    policy=NEVER,
)
