"""Runs that are cancelled, steered, nested, approved and continued: what users of other libraries
miss or complain about, by the numbers of their public issues."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from headrace import (
    Agent,
    Message,
    Middleware,
    RequestFailed,
    Run,
    ToolContext,
    UsageError,
    fold,
    tool,
)
from headrace import events as ev
from headrace.events import Record, decode_record, encode_record
from headrace.testing import (
    Heard,
    ScriptedTransport,
    ScriptedTurn,
    call,
    cut,
    run_virtual,
    say,
    think,
    turn,
)
from tests.engine.input.asking import agent_on, events_of, play, resume, texts_of
from tests.engine.input.test_approvals import PAYS, Till
from tests.engine.play import MODELS, check_next_request, clock

DIALECTS = list(MODELS)


@tool
async def slow() -> str:
    """Take a while."""
    await asyncio.sleep(10)
    return "slept"


@tool
async def quick() -> str:
    """Be done at once."""
    return "done"


def long_script() -> list[ScriptedTurn]:
    return [
        turn(think("Hm.", signed=True), say("First."), call("quick"), call("slow"), pace_s=1.0),
        turn(think("And.", signed=True), say("Then this."), pace_s=1.0),
    ]


def cancelled_at(at_s: float, dialect: str = "chat") -> tuple[Run[Any], ScriptedTransport]:
    script = ScriptedTransport(long_script(), dialect=dialect)

    async def main() -> Run[Any]:
        agent = agent_on(script, slow, quick, dialect=dialect)
        async with agent.run("Go.", clock=clock()) as run:
            asyncio.get_running_loop().call_later(at_s, run.cancel)
            await run.wait()
        return run

    return run_virtual(main()), script


# --- a cancel leaves a history that nobody accepts ------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pydantic_ai_7977_kagent_2277_pi_4189_agentscope_2469_a_cancelled_run_can_be_continued(
    dialect: str,
) -> None:
    """Whenever it is cancelled, the provider takes the history, and every call has a result."""
    for at_s in range(0, 32):
        run, _ = cancelled_at(at_s + 0.5, dialect)
        for one in run.message.turns:
            assert [r.call_id for r in one.results] == [c.call_id for c in one.calls]
        check_next_request(run.messages, dialect)


# --- what a cancel means --------------------------------------------------------------------


def test_pydantic_ai_1524_5838_3219_a_cancel_keeps_what_arrived_and_says_how_it_ended() -> None:
    run, script = cancelled_at(14.5)
    assert str(run.result.finish) == "aborted(cancelled: cancelled by the caller)"
    assert "First." in run.message.text
    assert texts_of(run.message)[0] == "done", "a result that was there stays"
    assert isinstance(run.records_so_far[-1].event, ev.RunFinished)
    assert sum(isinstance(r.event, ev.RunFinished) for r in run.records_so_far) == 1
    assert script.open_streams == 0


def test_adk_323_1712_2425_2853_a_run_is_stopped_from_anywhere_and_its_tools_too() -> None:
    stopped = threading.Event()
    runs: list[Run[Any]] = []

    def work(context: ToolContext) -> str:
        """Work in a thread."""
        threading.Thread(target=lambda: runs[0].cancel("the user pressed stop")).start()
        if context.wait(60):
            stopped.set()
        return "worked"

    async def main() -> None:
        async with agent_on([turn(call("work")), turn(say("Done."))], work).run("Go.") as run:
            runs.append(run)
            await run.wait()

    asyncio.run(main())
    assert stopped.is_set()
    assert "the user pressed stop" in str(runs[0].result.finish)


# --- sub-agents -------------------------------------------------------------------------------


def test_openai_agents_864_adk_4095_ag_ui_2304_openhands_16896_a_sub_agent_is_no_black_box() -> (
    None
):
    """Its events come while it works, with the call that they belong to, and are stored."""
    nested = agent_on(_call_once("slow"), slow).as_tool("helper", "Help.")
    script = [turn(call("helper", task="x", call_id="h")), turn(say("Done."))]

    async def main() -> tuple[Run[Any], list[Record]]:
        seen: list[Record] = []
        async with agent_on(script, nested).run("Go.", clock=clock()) as run:
            async for record in run.records():
                if record.path and isinstance(record.event, ev.TextDelta | ev.ToolStarted):
                    has_result = bool(events_of(run, ev.ToolResult))
                    seen.append(record)
                    assert isinstance(record.event, ev.TextDelta) or not has_result
        return run, seen

    run, seen = run_virtual(main())
    assert {record.path for record in seen} == {("h",)}
    message = fold(_through_json(run.records_so_far)).turns[0].results[0].message
    assert message is not None
    assert (texts_of(message), message.text) == (["slept"], "Found.")


def _call_once(name: str) -> Any:
    def answer(heard: Heard) -> ScriptedTurn:
        has_result = any(message.result is not None for message in heard.messages)
        return turn(say("Found.")) if has_result else turn(call(name))

    return answer


def _through_json(records: list[Record]) -> list[Record]:
    return [decode_record(encode_record(record)) for record in records]


# --- steering ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pydantic_ai_3544_harness_89_deepagents_5122_the_user_speaks_while_the_run_goes_on(
    dialect: str,
) -> None:
    script = ScriptedTransport(long_script(), dialect=dialect)

    async def main() -> Run[Any]:
        agent = agent_on(script, slow, quick, dialect=dialect)
        async with agent.run("Go.", clock=clock()) as run:
            asyncio.get_running_loop().call_later(7, run.steer, "In French, please.")
            await run.wait()
        return run

    run = run_virtual(main())
    assert "In French, please." in str(script.requests[1])
    assert texts_of(run.message) == ["done", "slept"], "nothing was cancelled for it"
    check_next_request(run.messages, dialect)


# --- approvals that outlive a process ------------------------------------------------------------


@pytest.mark.parametrize("is_killed", [False, True])
def test_copilotkit_1397_mastra_19301_pydantic_ai_3274_an_approval_survives_a_restart(
    is_killed: bool,
) -> None:
    before, after = Till(needs_approval=True), Till(needs_approval=True)
    first = play(agent_on(PAYS, before.pay), lambda _: None, suspends=True)
    records = _through_json(first.records_so_far)
    if is_killed:
        assert isinstance(records.pop().event, ev.RunSuspended)
    second = resume(agent_on(PAYS[1:], after.pay), records)
    assert (before.paid, after.paid) == ([], [5])
    assert len(events_of(second, ev.InputRequested)) == 1, "nobody is asked twice"
    assert second.result.text == "Done."


# --- durable and streaming ------------------------------------------------------------------------


def test_pydantic_ai_2804_6092_3359_a_run_that_is_stored_streams_every_delta() -> None:
    stored: list[Record] = []

    class Log:
        async def append(self, records: Any) -> None:
            stored.extend(records)

    words = "word " * 2000
    big = "x" * 3_000_000

    @tool(max_result_chars=4_000_000)
    async def read() -> str:
        """Read a big file."""
        return big

    async def main() -> list[Record]:
        script = [turn(call("read")), turn(say(words))]
        async with agent_on(script, read).run("Go.", sink=Log()) as run:
            return [record async for record in run.records()]

    shown = run_virtual(main())
    assert shown == stored
    assert sum(isinstance(record.event, ev.TextDelta) for record in shown) == 2000
    assert big in texts_of(fold(_through_json(stored)))


def test_pydantic_ai_6620_a_run_that_could_not_be_continued_is_refused_at_its_start() -> None:
    class Counter(Middleware):
        is_resumable = False

    with pytest.raises(UsageError, match="Counter cannot be resumed"):
        agent_on(PAYS, middleware=[Counter()]).run("Go.", suspends=True)


def test_workflowbuilder_128_a_retry_of_a_turn_does_not_repeat_the_calls_before_it() -> None:
    till = Till()
    whole = play(agent_on([turn(call("pay", amount=5)), turn(say("Do"), cut())], till.pay))
    assert whole.result.error is not None
    broken = next(
        n for n, r in enumerate(whole.records_so_far) if isinstance(r.event, ev.TextDelta)
    )
    script = ScriptedTransport([turn(say("Done."))])
    run = resume(agent_on(script, till.pay), whole.records_so_far[: broken + 1])
    assert till.paid == [5]
    assert script.opened == 1
    assert "paid 5" in str(script.requests[0])
    assert [one.text for one in run.message.turns] == ["", "Done."], "the cut answer is taken back"


# --- partial answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_vercel_ai_7900_chatbot_1060_mastra_17510_openai_agents_1658_2426_a_cut_answer_is_kept(
    dialect: str,
) -> None:
    """At every moment the message has all that was shown, calls and results included."""
    for at_s in range(0, 32):
        run, _ = cancelled_at(at_s + 0.5, dialect)
        shown = "".join(event.text for event in events_of(run, ev.TextDelta))
        assert "".join(one.text for one in run.message.turns) == shown
        message: Message = fold(_through_json(run.records_so_far))
        assert message == run.message
        finished = {event.call_id for event in events_of(run, ev.ToolCallFinished)}
        assert finished <= {part.call_id for one in message.turns for part in one.calls}


def test_openai_agents_1658_an_error_of_the_provider_keeps_the_answer_so_far() -> None:
    agent: Agent[Any] = agent_on([turn(say("The first half"), cut())])
    try:
        result = agent.complete("Go.")
    except RequestFailed:
        pytest.fail("what was said is lost with an exception")
    assert result.text == "The first half"
    assert result.error is not None
