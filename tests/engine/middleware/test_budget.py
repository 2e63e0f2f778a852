"""A budget ends a run before more is spent, and says which limit it was."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.encoders import Request
from headrace.engine import Agent, Budget, Run, RunView, Terminate
from headrace.engine.middleware.budget import _tokens
from headrace.engine.middleware.middleware import Deny, ToolCall
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import call, say, turn, usage
from headrace.rehearsal.transport import ScriptedTransport
from headrace.usage import Usage
from tests.engine.play import MODELS, Bench, check_run, clock


def played(turns: list[Any], budget: Budget, dialect: str = "chat") -> tuple[Run, list[int]]:
    ran: list[int] = []

    async def look(n: int) -> int:
        """Look at a number."""
        ran.append(n)
        return n

    agent = Agent(
        MODELS[dialect],
        transport=ScriptedTransport(turns, dialect=dialect),
        api_key="k",
        tools=[look],
        middleware=[budget],
    )

    async def main() -> Run:
        async with agent.run("Go.", clock=clock()) as run:
            await run.wait()
        return run

    run = run_virtual(main())
    check_run(run, dialect)
    return run, ran


def looks(*numbers: int) -> Any:
    return turn(*(call("look", n=number) for number in numbers))


def detail(run: Run) -> str:
    assert run.result.finish is not None
    assert run.result.finish.kind == "terminated"
    return run.result.finish.detail


@pytest.mark.parametrize("dialect", MODELS)
def test_no_more_calls_than_allowed(dialect: str) -> None:
    run, ran = played([looks(1), looks(2, 3)], Budget(max_tool_calls=2), dialect)
    assert detail(run) == "max_tool_calls=2"
    assert 3 not in ran
    assert len(run.message.turns[1].results) == 2


def test_the_same_call_is_denied_once_and_ends_the_run_then() -> None:
    turns = [looks(1), looks(2), looks(1), looks(1), looks(1)]
    run, ran = played(turns, Budget(max_identical_calls=2))
    assert ran == [1, 2, 1]
    denied = run.message.turns[3].results[0]
    assert denied.is_error
    assert "same arguments" in str(denied.content)
    assert detail(run) == "max_identical_calls=2: look"


def test_calls_in_a_row_begin_anew_after_another() -> None:
    turns = [looks(1), looks(1), looks(2), looks(1), looks(1), say("Done.")]
    run, ran = played([*turns[:-1], turn("Done.")], Budget(max_identical_calls=2, is_in_a_row=True))
    assert ran == [1, 1, 2, 1, 1]
    assert run.result.text == "Done."


def test_the_order_of_arguments_does_not_matter() -> None:
    budget, view = Budget(max_identical_calls=1), RunView("run", "model")
    assert budget.before_tool(view, ToolCall("1", "f", {"a": 1, "b": object})) is None
    assert isinstance(budget.before_tool(view, ToolCall("2", "f", {"b": object, "a": 1})), Deny)


def test_tokens_are_counted_before_the_next_turn() -> None:
    turns = [turn(call("look", n=1), usage(60, 30)), turn(call("look", n=2), usage(90, 30))]
    run, ran = played(turns, Budget(max_tokens=100))
    assert ran == [1]
    assert detail(run) == "max_tokens=100: 210 were used"


def test_an_answer_that_is_there_stays_one() -> None:
    run, _ = played([turn("Yes.", usage(500, 500))], Budget(max_tokens=100))
    assert run.result.finish is not None
    assert run.result.finish.word == "end_turn"


def test_what_the_provider_says_it_cost_counts() -> None:
    view = RunView("run", "model")
    view.message = Message(role="assistant", usage=Usage(cost=0.25, total_tokens=10))
    request = Request(model="m", messages=())
    Budget(max_cost=0.25, max_tokens=10).on_request(view, request)
    with pytest.raises(Terminate, match=r"max_cost=0.2: 0.25 was spent"):
        Budget(max_cost=0.2).on_request(view, request)
    with pytest.raises(Terminate, match=r"max_tokens=9"):
        Budget(max_tokens=9).on_request(view, request)


def test_runs_side_by_side_have_a_budget_each() -> None:
    budget = Budget(max_tool_calls=1)
    for _ in range(2):
        run, ran = played([looks(1), turn("Done.")], budget)
        assert ran == [1]
        assert isinstance(run.records_so_far[-1].event, ev.RunFinished)
        assert run.result.text == "Done."


def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="0 or more"):
        Budget(max_tokens=-1)


def test_a_count_that_is_not_reported_counts_nothing() -> None:
    budget = Budget(max_tokens=10)
    turns = [turn(call("look", n=1), usage(input=10, output=0)), turn(say("Done."))]
    run, ran = played(turns, budget)
    assert ran == [1]
    assert run.result.text == "Done."
    assert _tokens(Usage(input_tokens=10)) == 10
    assert _tokens(Usage(output_tokens=7)) == 7
    assert _tokens(Usage(total_tokens=5)) == 5
    assert _tokens(Usage()) == 0


@pytest.mark.parametrize(
    ("model", "dialect"),
    [
        ("anthropic:claude-sonnet-4-5", "anthropic"),
        ("openai:gpt-5", "responses"),
        ("openai-chat:gpt-5", "chat"),
    ],
)
def test_a_cost_that_is_not_reported_is_computed(model: str, dialect: str) -> None:
    turns = [turn(call("add", a=1, b=n), usage(input=100_000, output=1_000)) for n in range(9)]
    transport = ScriptedTransport(turns, dialect=dialect)
    limited = Agent(
        model,
        api_key="k",
        transport=transport,
        tools=Bench().tools(),
        middleware=[Budget(max_cost=0.7)],
    )
    result = run_virtual(limited.complete_async("Add."))
    assert str(result.finish).startswith("aborted")
    assert 0.7 < (result.usage.cost or 0) < 1.1
    assert 1 < transport.opened < 9
