"""Messages of the user while a run goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.engine import Run
from headrace.events.grammar import RUN_GRAMMAR
from headrace.messages import fold
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import call, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import tool
from tests.engine.input.asking import agent_on, events_of
from tests.engine.play import MODELS, check_next_request, clock
from tests.published import accepts


@tool
async def slow() -> str:
    """Take a while."""
    await asyncio.sleep(10)
    return "slept"


SCRIPT = [turn(call("slow")), turn(call("slow")), turn(say("As you like."), pace_s=1.0)]


def _texts(messages: Any) -> list[str]:
    return ["".join(getattr(c, "text", "") for c in message.content) for message in messages]


def _steer(at: dict[float, str], script: ScriptedTransport, dialect: str = "chat") -> Run[Any]:
    async def main() -> Run[Any]:
        loop = asyncio.get_running_loop()
        run = agent_on(script, slow, dialect=dialect).run("Go.", clock=clock())
        async with run:
            for at_s, text in at.items():
                loop.call_later(at_s, run.steer, text)
            await run.wait()
        return run

    return run_virtual(main())


@pytest.mark.parametrize("dialect", MODELS)
def test_it_reaches_the_model_with_the_next_step_and_in_order(dialect: str) -> None:
    script = ScriptedTransport(SCRIPT, dialect=dialect)
    run = _steer({1: "Hurry.", 2: "Please.", 12: "Enough."}, script, dialect)
    first, second, third = map(str, script.requests)
    assert "Hurry." not in first
    assert second.index("Hurry.") < second.index("Please.")
    assert second.index("slow") < second.index("Hurry."), "after the result of the call"
    assert "Enough." not in second
    assert third.index("Please.") < third.index("Enough.")
    for body in script.requests:
        accepts(dialect, body)
    assert run.unsent == []
    added = events_of(run, ev.UserMessageAdded)
    assert _texts(added) == ["Hurry.", "Please.", "Enough."]
    assert [event.said_at_ms for event in added] == [1000, 2000, 12000]
    assert [_texts(t.added) for t in run.message.turns] == [["Hurry.", "Please."], ["Enough."], []]
    check_next_request(run.messages, dialect)


def test_what_comes_too_late_is_unsent_at_a_normal_end() -> None:
    run = _steer({20.5: "Wait!", 20.6: "Really."}, ScriptedTransport(SCRIPT))
    assert _texts(run.unsent) == ["Wait!", "Really."]
    assert events_of(run, ev.UserMessageAdded) == []
    assert run.result.text == "As you like."


def test_the_same_inbox_entry_counts_once() -> None:
    async def main() -> Run[Any]:
        async with agent_on(SCRIPT, slow).run("Go.") as run:
            for _ in range(3):
                run.steer("Hurry.", entry_id="e1", by="ann")
            await run.wait()
        return run

    (added,) = events_of(run_virtual(main()), ev.UserMessageAdded)
    assert (added.by, added.entry_id) == ("ann", "e1")


def test_a_message_from_another_thread_arrives() -> None:
    @tool
    def work() -> str:
        """Work in a thread."""
        runs[0].steer("From a thread.")
        return "done"

    runs: list[Run[Any]] = []

    async def main() -> None:
        async with agent_on([turn(call("work")), turn(say("Done."))], work).run("Go.") as run:
            runs.append(run)
            await run.wait()

    asyncio.run(main())
    assert _texts(events_of(runs[0], ev.UserMessageAdded)) == ["From a thread."]


@pytest.mark.parametrize("steers_first", [True, False])
@pytest.mark.parametrize("at_s", [number / 2 for number in range(1, 48)])
def test_a_message_and_a_cancel_at_the_same_moment(at_s: float, steers_first: bool) -> None:
    """The message is in the log or unsent, once, and the log is legal."""
    script = ScriptedTransport(SCRIPT)

    async def main() -> Run[Any]:
        loop = asyncio.get_running_loop()
        async with agent_on(script, slow).run("Go.", clock=clock()) as run:
            acts: list[Any] = [lambda: run.steer("Stop that."), run.cancel]
            for act in acts if steers_first else reversed(acts):
                loop.call_at(at_s, act)
            await run.wait()
            # A run that has ended before takes the message as unsent.
            await asyncio.sleep(max(0.0, at_s + 1 - loop.time()))
        return run

    run = run_virtual(main())
    added = events_of(run, ev.UserMessageAdded)
    assert _texts([*added, *run.unsent]) == ["Stop that."]
    state = "before"
    for record in run.records_so_far:
        state = RUN_GRAMMAR[state][type(record.event)]
    assert state == "over"
    assert fold(run.records_so_far) == run.message
    check_next_request(run.messages, "chat")


def test_content_is_kept_as_it_was_given() -> None:
    async def main() -> Run[Any]:
        async with agent_on(SCRIPT, slow).run("Go.") as run:
            run.steer("See:", TextContent("this"))
            await run.wait()
        return run

    (added,) = events_of(run_virtual(main()), ev.UserMessageAdded)
    assert added.content == (TextContent("See:"), TextContent("this"))


def test_what_is_said_after_the_end_is_unsent() -> None:
    with agent_on([turn(say("Done."))]).run("Go.") as run:
        for _ in run:
            pass
    run.steer("One more thing.")
    assert _texts(run.unsent) == ["One more thing."]
