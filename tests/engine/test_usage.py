"""Usage and service tier of turns and runs: summed over turns, and kept however the run ends."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import CancelToken, Middleware, Run, RunLimits, RunView, Terminate
from headrace.events import Record
from headrace.testing import (
    ScriptedTransport,
    call,
    cut,
    run_virtual,
    say,
    stall,
    turn,
    usage,
    wait,
)
from headrace.usage import Usage
from tests.engine.play import Bench, agent_for
from tests.engine.test_next_request import Played
from tests.wire import sse

ADD = call("add", a=1, b=2)
FIRST, SECOND = usage(input=10, output=5), usage(input=20, output=7)


def play(*turns: Any, cancel_at: type[Any] | None = None, **options: Any) -> Run:
    """Play a run; it is cancelled when it comes to a record of this type in its second step."""
    transport = ScriptedTransport(turns)
    token = CancelToken()
    agent = agent_for("chat", transport, Bench(), **options)

    async def main() -> Run:
        async with agent.run("Go.", token=token) as run:
            async for record in run.records():
                if cancel_at is not None and isinstance(record.event, cancel_at) and record.step:
                    token.cancel()
        return run

    return run_virtual(main())


def end_of(run: Run) -> ev.RunFinished | ev.RunFailed:
    end = run.records_so_far[-1].event
    assert isinstance(end, ev.RunFinished | ev.RunFailed)
    return end


class StopInSecondStep(Middleware):
    def on_event(self, run: RunView, record: Record) -> None:
        if isinstance(record.event, ev.TextDelta):
            raise Terminate("enough")


TURNS = (turn(ADD, FIRST), turn(say("It is 3."), wait(1), say("Really."), SECOND))
ENDINGS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "cancelled": (TURNS, {"cancel_at": ev.TextDelta}, "aborted"),
    "terminated": (TURNS, {"middleware": [StopInSecondStep()]}, "aborted"),
    "max_iterations": (
        (turn(ADD, FIRST), turn(ADD, SECOND)),
        {"limits": RunLimits(max_iterations=1)},
        "aborted",
    ),
    "timed out": (
        (turn(ADD, FIRST), turn(say("It"), stall())),
        {"limits": RunLimits(run_timeout_s=30)},
        "aborted",
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_run_that_is_aborted_keeps_the_usage_of_its_turns(name: str) -> None:
    turns, options, word = ENDINGS[name]
    run = play(*turns, **options)
    end = end_of(run)
    assert isinstance(end, ev.RunFinished)
    assert end.reason.word == word
    first, *broken = [
        record.event.usage
        for record in run.records_so_far
        if isinstance(record.event, ev.TurnFinished | ev.TurnFailed)
    ]
    assert (first.input_tokens, first.output_tokens) == (10, 5)
    assert end.usage == sum(broken, first)
    assert end.usage.is_estimated == any(usage.is_estimated for usage in broken) == bool(broken)
    assert run.result.usage == run.message.usage == end.usage


def test_a_run_that_fails_keeps_the_usage_of_its_turns() -> None:
    run = play(turn(ADD, FIRST), turn(say("It"), cut()), limits=RunLimits(turn_attempts=1))
    end = end_of(run)
    assert isinstance(end, ev.RunFailed)
    assert (end.usage.input_tokens or 0) > 10
    assert end.usage.output_tokens == 5 + 1  # "It" is estimated as one token
    assert end.usage.is_estimated
    assert run.result.usage == end.usage


def anthropic(counts: dict[str, Any], block: dict[str, Any], reason: str, tier: str) -> bytes:
    message = {"id": "m", "model": "claude-x", "usage": {**counts, "service_tier": tier}}
    return sse(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
        done=False,
    )


def test_each_count_has_its_meaning_and_is_summed_over_turns() -> None:
    """Anthropic counts what it reads from and writes to the cache beside the input."""
    transport = Played(
        anthropic(
            {
                "input_tokens": 10,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 30,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 20,
                    "ephemeral_1h_input_tokens": 10,
                },
            },
            {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1, "b": 2}},
            "tool_use",
            "priority",
        ),
        anthropic(
            {"input_tokens": 7, "cache_read_input_tokens": 140, "cache_creation_input_tokens": 4},
            {"type": "text", "text": "It is 3."},
            "end_turn",
            "standard",
        ),
    )
    agent = agent_for("anthropic", transport, Bench())

    async def main() -> Run:
        async with agent.run("Go.") as run:
            await run.wait()
        return run

    run = run_virtual(main())
    first, second = (
        record.event for record in run.records_so_far if isinstance(record.event, ev.TurnFinished)
    )
    assert (first.reason.word, second.reason.word) == ("tool_use", "end_turn")
    assert (first.service_tier, second.service_tier) == ("priority", "standard")
    assert first.usage == Usage(
        input_tokens=140,  # cached and uncached
        output_tokens=5,
        cached_input_tokens=100,
        cache_creation_input_tokens=30,  # the sum of the next two
        cache_creation_5m_tokens=20,
        cache_creation_1h_tokens=10,
    )
    # Without a breakdown only the total is known.
    assert second.usage == Usage(
        input_tokens=151,
        output_tokens=5,
        cached_input_tokens=140,
        cache_creation_input_tokens=4,
    )
    assert run.result.usage == first.usage + second.usage
    assert run.result.usage.input_tokens == 291
    assert run.result.usage.cache_creation_5m_tokens == 20


def test_what_no_turn_has_reported_is_not_known() -> None:
    total = play(turn(ADD, FIRST), turn(say("3"), SECOND)).result.usage
    assert (total.input_tokens, total.output_tokens) == (30, 12)
    assert total.cache_creation_input_tokens is None
    assert total.units is None
    assert not total.is_estimated
