"""One message: what streamed, what is stored, and what a reload shows are the same, and nothing
moves when the one becomes the other."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from headrace.engine import Agent, RunLimits
from headrace.recording.replay import ReplayTransport
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import tool
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage
from tests.browser.talk import Talk, script
from tests.corpus.recorded import MANIFEST, read, rows

RECORDED = int(os.environ.get("HEADRACE_SOAK_PAGES", "4"))
PROVIDERS = {
    "openai-chat": "vllm:any",
    "anthropic": "anthropic:any",
    "openai-responses": "openai:any",
    "gemini": "gemini:any",
}
SCENARIOS = (
    "Hello there",
    "What is 12*34?",
    "parallel: What is 12*34 and what time is it?",
    "think again: how much is 2^10, and what time is it?",
    "long, please",
    "help",
    "fail",
    "cut",
    "ends in code",
    "ends in math",
    "has links",
    "refuse",
)


@pytest.fixture
def shifts(page: Page) -> Page:
    """The page, which adds up how far things move by themselves."""
    page.add_init_script(script("shifts"))
    return page


LINKS = "\n\n".join(f"Paragraph {n} has [a link][{n % 7}] in it." for n in range(150))
ENDINGS = {
    "ends in code": "Run this:\n\n```python\nprint(1)\nprint(2)\n```",
    "ends in math": "So it is\n\n$$\\int_0^1 \\frac{x^2}{2}\\,dx = \\frac{1}{6}$$",
    "has links": LINKS + "".join(f"\n\n[{n}]: https://example.org/{n}" for n in range(7)),
}


@pytest.mark.parametrize("message", SCENARIOS)
def test_rehearsed_answers_are_the_same_live_stored_and_reloaded(
    stage: Stage, shifts: Page, message: str
) -> None:
    stage.plays |= {name: [turn(think("Hm."), say(text))] for name, text in ENDINGS.items()}
    _check(stage, Talk(shifts, stage.url).open(), message)


def _recorded() -> list[Any]:
    """Recorded streams with reasoning or calls, some of each provider."""
    chosen: list[Any] = []
    for api in PROVIDERS:
        fit = [
            row
            for row in rows(api)
            if row["framing"] in ("sse", "jsonl")
            and not row["malformed"]
            and row["provenance"] == "recorded"
            and {"reasoning", "thinking", "tool_call", "tool_calls", "summary"}
            & set(row["features"])
        ]
        each = -(-RECORDED // len(PROVIDERS))
        step = max(1, len(fit) // each)
        chosen += fit[::step][:each]
    return [pytest.param(row, id=row["file"].rpartition("/")[2]) for row in chosen[:RECORDED]]


@pytest.fixture
def replay(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    row = request.param
    data = read(row)
    lines = [b"data: %b\n\n" % line for line in data.splitlines() if line.strip()]
    reads = lines if row["framing"] == "jsonl" else re.split(rb"(?<=\n\n)", data)
    agent = Agent(
        PROVIDERS[row["api"]],
        base_url="http://127.0.0.1:9",
        api_key="k",
        transport=ReplayTransport(reads, speed=None),
        policy=NEVER,
        limits=RunLimits(max_iterations=1),
    )
    stage = Stage(tmp_path / "data", agent=agent).open()
    yield stage
    stage.close()


@pytest.mark.shared(MANIFEST)
@pytest.mark.parametrize("replay", _recorded(), indirect=True)
def test_recorded_answers_are_the_same_live_stored_and_reloaded(
    replay: Stage, shifts: Page
) -> None:
    _check(replay, Talk(shifts, replay.url).open(), "Go on.")


def test_approvals_sub_agents_and_rich_results_are_the_same_after_a_reload(
    tmp_path: Path, page: Page
) -> None:
    stage = Stage(tmp_path / "data", agent=_worker()).open()
    talk = Talk(page, stage.url).open()
    talk.send("work")
    page.get_by_role("button", name="Approve").click()
    talk.settle()
    seen: list[tuple[list[Any], str]] = []
    for _ in range(2):
        expect(talk.answers).to_have_count(1)
        talk.open_all()
        for row in page.locator(".assistant > headrace-steps-panel > .row > details").all():
            row.locator("> summary").click()
        talk.open_all()
        expect(page.locator(".tool-result table")).to_be_visible()
        seen.append((talk.steps(), _settled_dom(talk)))
        page.reload()
    assert seen[0] == seen[1]
    stage.close()


def _worker() -> Agent:
    """An agent whose answer has an approval with changes, a sub-agent, a failure and a table."""

    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @tool
    async def table() -> list[dict[str, Any]]:
        """Return a table."""
        return [{"name": "a", "size": 1}]

    @tool
    async def broken() -> str:
        """Fail."""
        raise RuntimeError("no such thing")

    def play(heard: Heard) -> ScriptedTurn:
        if any(message.result for message in heard.since_user):
            return turn(think("So."), say("Done."))
        calls = (call("pay", amount=5), call("table"), call("broken"), call("look", task="x"))
        return turn(think("Hm."), *calls)

    def agent(play: Callable[[Heard], ScriptedTurn], *tools: Any) -> Agent:
        transport = ScriptedTransport(play, dialect="responses")
        return Agent(
            "openai:rehearsed", transport=transport, api_key="k", tools=tools, policy=NEVER
        )

    inner = agent(lambda heard: turn(think("Inside."), say("Found.")))
    return agent(play, pay, table, broken, inner.as_tool("look", "Look something up."))


def _check(stage: Stage, talk: Talk, message: str) -> None:
    stage.hold_commits()
    talk.send(message)
    event_id = talk.page.locator("headrace-assistant-message")
    expect(event_id).to_have_count(1)
    # All records are out once the run has ended; what is missing is the save.
    talk.until(_QUIET)
    talk.page.wait_for_timeout(700)
    before, held = talk.steps(), talk.page.evaluate("window.shifted")
    # What is red or grey below the answer is new at its end, and moves nothing above it.
    places = talk.page.evaluate(_PLACES)
    stage.release_commits()
    talk.settle()
    talk.page.wait_for_timeout(150)
    if talk.page.locator(".notice").count() == 0:
        assert talk.page.evaluate(_PLACES) == places, "the words have moved"
        assert talk.page.evaluate("window.shifted") == held, talk.page.evaluate("window.moved")
    talk.open_all()
    if message != "has links":  # which are none until the definitions at the end have come
        assert talk.steps() == before
    shown = _settled_dom(talk)
    talk.page.reload()
    expect(talk.answers).to_have_count(1)
    talk.open_all()
    assert _settled_dom(talk) == shown


_QUIET = script("quiet")
_PLACES = script("places")


def _settled_dom(talk: Talk) -> str:
    """The thread without what Lit notes down in it, once colours and math are in."""
    talk.page.wait_for_load_state("networkidle")
    last = ""
    for _ in range(50):
        html: str = talk.page.locator(".thread").evaluate("one => one.innerHTML")
        if html == last:
            break
        last = html
        talk.page.wait_for_timeout(120)
    # Space that is held for the reader is not there after a reload.
    return re.sub(r'<!--.*?-->|\s+(?=<)| style="[^"]*"', "", last)
