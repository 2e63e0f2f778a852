"""Fallbacks in the middle of a stream that go wrong elsewhere, by the numbers of public issues."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Agent, Fallback, FallbackEntry, RetryPolicy, Run, RunLimits
from headrace import events as ev
from headrace.testing import ScriptedTransport, cut, refuse, run_virtual, say, turn

CLAUDE, GPT, CHAT = "anthropic:claude-sonnet-4-6", "openai:gpt-5", "openai-chat:gpt-5-mini"
DIALECTS = {CLAUDE: "anthropic", GPT: "responses", CHAT: "chat"}
BROKEN = turn(say("The first half, and"), cut())


def scripted(model: str, *turns: Any) -> tuple[FallbackEntry, ScriptedTransport]:
    transport = ScriptedTransport(list(turns), dialect=DIALECTS[model])
    return FallbackEntry(model, api_key="k", transport=transport), transport


def play(agent: Agent[Any]) -> Run:
    async def main() -> Run:
        async with agent.run("Tell me.") as run:
            await run.wait()
        return run

    return run_virtual(main())


def test_litellm_19077_without_leave_an_answer_that_broke_off_is_not_asked_for_again() -> None:
    first, _ = scripted(CLAUDE, BROKEN)
    second, unused = scripted(GPT, turn(say("All of it.")))
    run = play(Agent(Fallback(first, second), limits=RunLimits(retries_late=False)))
    assert run.result.error is not None
    assert run.result.error.category == "network", "the error of the model itself is told"
    assert unused.opened == 0


@pytest.mark.parametrize("first", [GPT, CHAT])
def test_litellm_27967_the_next_model_is_asked_the_question_and_no_prefill(first: str) -> None:
    """Newer models of Anthropic refuse a request that ends with a message of the assistant."""
    failing, _ = scripted(first, BROKEN)
    answering, asked = scripted(CLAUDE, turn(say("All of it.")))
    run = play(Agent(Fallback(failing, answering), limits=RunLimits(retries_late=True)))
    assert run.result.text == "All of it."
    messages = asked.requests[0]["messages"]
    assert [message["role"] for message in messages] == ["user"]
    assert "first half" not in str(asked.requests)


@pytest.mark.parametrize("fault", [refuse(None, "No response."), cut()])
@pytest.mark.parametrize("late", [False, True])
def test_litellm_28216_a_broken_responses_stream_falls_back(fault: Any, late: bool) -> None:
    script = turn(say("The first half, and"), cut()) if late else turn(fault)
    failing, _ = scripted(GPT, script)
    answering, _ = scripted(CLAUDE, turn(say("All of it.")))
    run = play(Agent(Fallback(failing, answering), limits=RunLimits(retries_late=True)))
    assert run.result.text == "All of it."
    assert run.message.turns[-1].provider == "anthropic"


def test_litellm_29808_a_broken_stream_is_retried_without_a_fallback() -> None:
    """Retries and fallbacks are one mechanism: a model alone, or the last one, is asked again."""
    transport = ScriptedTransport([BROKEN, turn(say("All of it."))], dialect="anthropic")
    limits = RunLimits(retries_late=True)
    policy = RetryPolicy(base_s=1)
    alone = Agent(CLAUDE, api_key="k", transport=transport, limits=limits, policy=policy)
    assert play(alone).result.text == "All of it."
    first, _ = scripted(GPT, BROKEN)
    last, asked = scripted(CLAUDE, BROKEN, turn(say("All of it.")))
    run = play(Agent(Fallback(first, last), limits=limits, policy=policy))
    assert run.result.text == "All of it."
    assert asked.opened == 2
    assert sum(isinstance(r.event, ev.StepDiscarded) for r in run.records_so_far) == 2
