"""States of agents at work: approvals, forms, running tools, results, and sub-agents."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

from headrace.content import ImageContent
from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, say, think, turn, wait
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import ToolContext, tool
from headrace.tools.tool import Tool
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage
from tests.browser.talk import Talk
from tests.sample_files import draw_picture

_FOREVER_S = 1_000.0
_FORM = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City"},
        "nights": {"type": "integer", "title": "Nights"},
        "size": {"enum": ["small", "large"], "title": "Room"},
        "has_breakfast": {"type": "boolean", "title": "Breakfast"},
    },
    "required": ["city", "nights"],
}
_DIFF = """\
--- a/plan.py
+++ b/plan.py
@@ -1,3 +1,3 @@
 first = 34 * 36
-second = 420 * 3
+second = 420 * 3 + 60
 print(second - first)
"""


@tool(needs_approval=True)
async def delete_file(path: str, is_recursive: bool = False) -> str:
    """Delete a file."""
    return f"{path} is deleted"


@tool(is_idempotent=True)
async def book_room(context: ToolContext) -> str:
    """Ask the user where to."""
    return f"booked: {await context.ask('Which room would you like?', _FORM)}"


@tool(is_idempotent=True)
async def ask_user(context: ToolContext) -> str:
    """Ask the user something."""
    return f"they want {await context.ask('Which of the two plans do you mean?')}"


@tool
async def slow_search(context: ToolContext, query: str) -> str:
    """Search for long."""
    context.progress("page 3 of 8", progress=0.375)
    await asyncio.sleep(_FOREVER_S)
    return "found"


@tool
async def look_up(name: str) -> str:
    """Return at once."""
    return f"{name} is in the list"


@tool
async def broken(table: str) -> str:
    """Fail."""
    raise RuntimeError(f"there is no table {table}")


@tool
async def draw() -> ImageContent:
    """Draw a picture."""
    return ImageContent(media_type="image/png", data=base64.b64encode(draw_picture()).decode())


@tool
async def rows() -> list[dict[str, Any]]:
    """Return a table."""
    return [{"plan": "First", "sum": 1224}, {"plan": "Second", "sum": 1320}]


@tool
async def compare() -> str:
    """Return a difference."""
    return _DIFF


def _research(heard: Heard) -> ScriptedTurn:
    pause = (wait(_FOREVER_S),) if "slowly" in heard.user else ()
    thought = think("The sources disagree about the fee.", title="Reading the sources")
    return turn(thought, say("The fee is 60, and it is paid once."), *pause, say(" Twice checked."))


def make_tools() -> list[Tool]:
    """Return the tools of the agent that is shown."""
    inner = Agent(
        "openai:rehearsed",
        transport=ScriptedTransport(_research, dialect="responses"),
        api_key="k",
        policy=NEVER,
    )
    research = inner.as_tool("research", "Look something up.")
    return [
        delete_file, book_room, ask_user, slow_search, look_up, broken, draw, rows, compare,
        research,
    ]  # fmt: skip


def add_plays(stage: Stage) -> None:
    """Set what is played in these states."""
    thought = think("I need to look at it first.", title="Looking at it")
    done = turn(think("That is all."), say("It is done."))
    stage.plays |= {
        "delete": [turn(thought, call("delete_file", path="drafts/plan.md")), done],
        "form": [turn(call("book_room")), done],
        "question": [turn(call("ask_user")), done],
        "search": [
            turn(
                thought,
                call("slow_search", query="fees of the second plan"),
                *(call("look_up", name=name) for name in ("first", "second", "third")),
            ),
            done,
        ],
        "broken": [turn(thought, call("broken", table="plans"), call("look_up", name="x")), done],
        "results": [turn(call("draw"), call("rows"), call("compare")), done],
        "research": [turn(thought, call("research", task="What is the fee?")), done],
        "research live": [turn(thought, call("research", task="Slowly: slowly find it.")), done],
    }


def approval(talk: Talk) -> None:
    talk.send("delete")
    talk.page.get_by_role("button", name="Approve").wait_for()
    talk.page.wait_for_timeout(300)


def approved(talk: Talk) -> None:
    approval(talk)
    talk.page.get_by_role("button", name="Approve", exact=True).click()
    talk.settle()


def denied(talk: Talk) -> None:
    approval(talk)
    talk.page.get_by_role("button", name="Deny", exact=True).click()
    talk.settle()


def form(talk: Talk) -> None:
    """A tool asks for several values."""
    talk.send("form")
    talk.page.get_by_label("City").fill("Oslo")
    talk.page.wait_for_timeout(300)


def question(talk: Talk) -> None:
    """A tool asks for a sentence."""
    talk.send("question")
    talk.page.get_by_text("Which of the two plans do you mean?").first.wait_for()
    talk.page.wait_for_timeout(300)


def running(talk: Talk) -> None:
    """One tool is slow and tells how far it is; the others have returned."""
    talk.send("search")
    talk.page.locator("progress").first.wait_for()
    talk.page.wait_for_timeout(400)


def failed_tool(talk: Talk) -> None:
    talk.ask("broken")
    talk.open_all()
    talk.page.locator("summary.tool-line").first.click()
    talk.page.wait_for_timeout(300)


def results(talk: Talk) -> None:
    """A picture, a table and a difference as results of tools."""
    talk.ask("results")
    talk.open_all()
    for line in talk.page.locator("summary.tool-line").all():
        line.click()
    talk.page.locator(".scroller").evaluate("one => one.scrollTop = 0")
    talk.page.wait_for_timeout(300)


def sub_agent(talk: Talk) -> None:
    """The steps of a sub-agent are in the row of its call."""
    talk.ask("research")
    talk.open_all()
    talk.page.locator("summary.tool-line").first.click()
    talk.page.wait_for_timeout(300)


def sub_agent_live(talk: Talk) -> None:
    talk.send("research live")
    talk.page.get_by_text("The fee is 60").first.wait_for()
    talk.page.wait_for_timeout(400)


STATES: tuple[Callable[[Talk], None], ...] = (
    approval, approved, denied, form, question, running, failed_tool, results, sub_agent,
    sub_agent_live,
)  # fmt: skip
