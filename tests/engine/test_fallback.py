"""Runs with a fallback: one message, a legal log, nothing shown twice, wherever a model fails."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import Agent, Conversation, Fallback, FallbackEntry, Run, RunLimits
from headrace import events as ev
from headrace.projections.ux import UXProjection
from headrace.projections.ux.event import to_event
from headrace.projections.ux.frame_fold import fold_frames
from headrace.testing import (
    ScriptedTransport,
    call,
    cut,
    error,
    redacted,
    refuse,
    run_virtual,
    say,
    think,
    turn,
)
from headrace.transport.retry import NEVER
from tests.engine.play import Bench, check_run

CLAUDE, GPT, CHAT = "anthropic:claude-sonnet-4-5", "openai:gpt-5", "openai-chat:gpt-5-mini"
DIALECTS = {CLAUDE: "anthropic", GPT: "responses", CHAT: "chat"}
LATE = RunLimits(retries_late=True)
THOUGHT, TEXT = "Let me see, what is it?", "The answer that broke off."
FAULTS: dict[str, tuple[Any, ...]] = {
    "before the first event": (refuse(529, "Overloaded."),),
    "instead of the first event": (error("overloaded"),),
    "after reasoning": (think(THOUGHT), cut()),
    "after reasoning, told": (think(THOUGHT), error("overloaded")),
    "after text": (think(THOUGHT), say(TEXT), cut()),
    "after a call": (say(TEXT), call("add", a=5, b=5), cut()),
    "in hidden reasoning": (redacted("xyz"), cut()),
}


def entry(model: str, *turns: Any) -> tuple[FallbackEntry, ScriptedTransport]:
    transport = ScriptedTransport(list(turns), dialect=DIALECTS[model])
    return FallbackEntry(model, api_key="k", transport=transport), transport


def play(agent: Agent[Any], question: str = "Go.") -> Run:
    async def main() -> Run:
        async with agent.run(question) as run:
            await run.wait()
        return run

    return run_virtual(main())


def check_shown(run: Run) -> None:
    """The ux frames fold to the stored answer, so that a reader sees nothing twice."""
    projection = UXProjection()
    frames = [frame for record in run.records_so_far for frame in projection.feed(record)]
    frames += projection.close()
    folded = fold_frames(frames)
    stored = to_event(run.message, event_id=folded.id)
    assert folded.segments == stored.segments
    shown = msgspec.json.encode(folded).decode()
    assert TEXT not in shown
    assert THOUGHT not in shown


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("first", DIALECTS)
@pytest.mark.parametrize("second", DIALECTS)
def test_wherever_a_model_fails_the_next_one_answers_once(
    fault: str, first: str, second: str
) -> None:
    failing, failed = entry(first, turn(*FAULTS[fault]))
    answering, answered = entry(second, turn(call("add", a=1, b=2)), turn(say("It is 3.")))
    bench = Bench()
    models = Fallback(failing, answering)
    run = play(Agent(models, tools=bench.tools(), limits=LATE))
    check_run(run, DIALECTS[second])
    check_shown(run)
    assert run.result.text == "It is 3."
    assert run.result.error is None
    assert bench.calls == 1, "the call of the answer that was taken back is not run"
    # The model that answered goes on with its tools.
    assert (failed.opened, answered.opened) == (1, 2)
    (switch,) = run.switches
    assert run.result.switches == (switch,)
    assert (switch.failed, switch.next) == (first, second)
    discarded = [r for r in run.records_so_far if isinstance(r.event, ev.StepDiscarded)]
    assert len(discarded) == fault.startswith(("after", "in hidden"))
    assert switch.is_late == bool(discarded)
    assert {one.provider for one in run.message.turns} == {second.partition(":")[0]}


@pytest.mark.parametrize("first", DIALECTS)
def test_output_is_taken_back_only_if_that_is_allowed(first: str) -> None:
    failing, _ = entry(first, turn(say(TEXT), cut()))
    answering, unused = entry(CHAT, turn(say("It is 3.")))
    run = play(Agent(Fallback(failing, answering)))
    check_run(run, DIALECTS[first])
    assert run.result.error is not None
    assert run.result.text == TEXT
    assert unused.opened == 0
    assert run.switches == ()


def test_a_model_that_fails_in_a_later_step_hands_over_the_results_of_its_tools() -> None:
    failing, _ = entry(CLAUDE, turn(think("Hm."), call("add", a=1, b=2)), turn(say(TEXT), cut()))
    answering, asked = entry(GPT, turn(say("It is 3.")))
    bench = Bench()
    run = play(Agent(Fallback(failing, answering), tools=bench.tools(), limits=LATE))
    check_run(run, "responses")
    check_shown(run)
    assert bench.calls == 1
    assert [one.provider for one in run.message.turns] == ["anthropic", "openai"]
    kinds = [item.get("type") for item in asked.requests[0]["input"]]
    assert kinds[-2:] == ["function_call", "function_call_output"]
    assert TEXT not in str(asked.requests)


def test_if_every_model_fails_the_run_names_them() -> None:
    models = Fallback(
        entry(CLAUDE, turn(refuse(529, "Overloaded.")))[0],
        entry(GPT, turn(refuse(500, "Broken.")))[0],
    )
    run = play(Agent(models, policy=NEVER))
    assert run.result.error is not None
    assert run.result.error.category == "server"
    assert f"before that, {CLAUDE}: overloaded" in run.result.error.message


class City(msgspec.Struct):
    name: str
    people: int


@pytest.mark.parametrize("is_late", [False, True])
def test_typed_answers_are_asked_for_in_the_way_of_each_provider(is_late: bool) -> None:
    """The first takes a schema; the second is asked by a tool."""
    fault = [say('{"name": "Ber'), cut()] if is_late else [refuse(529, "Overloaded.")]
    failing, native = entry(GPT, turn(*fault))
    transport = ScriptedTransport([turn(call("final_answer", name="Oslo", people=7))])
    tool = FallbackEntry("deepseek:deepseek-chat", api_key="k", transport=transport)
    agent = Agent(Fallback(failing, tool), output_type=City, limits=LATE)
    values: list[Any] = []

    async def main() -> Run[City]:
        async with agent.run("Which?") as run:
            values.extend([dict(value) async for value in run.partial()])
        return run

    run = run_virtual(main())
    assert run.output == run.result.output == City("Oslo", 7)
    assert values[-1] == {"name": "Oslo", "people": 7}
    assert "text" in native.requests[0]
    assert transport.requests[0]["tools"][0]["function"]["name"] == "final_answer"


def test_a_conversation_goes_on_with_whichever_model_is_there() -> None:
    first, claude = entry(
        CLAUDE, turn(say("I am Claude.")), turn(refuse(529, "Overloaded.")), turn(say("Again."))
    )
    second, gpt = entry(GPT, turn(say("I am GPT.")))
    conversation = Conversation(Agent(Fallback(first, second)))

    async def main() -> list[str]:
        return [(await conversation.complete_async(q)).text for q in ("One?", "Two?", "Three?")]

    assert run_virtual(main()) == ["I am Claude.", "I am GPT.", "Again."]
    assert "I am Claude." in str(gpt.requests[0])
    assert "I am GPT." in str(claude.requests[-1])


def test_shared_connections_are_those_of_each_entry() -> None:
    """A server shares connections; an entry over gRPC must not get those of one over HTTP."""
    agent = Agent(
        Fallback(FallbackEntry(GPT, api_key="k"), FallbackEntry("xai-grpc:grok-4", api_key="k"))
    )
    agent.share_connections()

    async def main() -> list[list[str]]:
        kinds = [
            [type(target.transport).__name__ for target in agent.run("Hi")._config.targets]
            for _ in range(2)
        ]
        await agent.aclose()
        return kinds

    assert run_virtual(main()) == [["HTTPTransport", "GRPCTransport"]] * 2
