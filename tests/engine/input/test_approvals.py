"""Calls that a person must approve."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.engine import Allow, Approve, Deny, Middleware, RunView, ToolCall
from headrace.errors import UsageError
from headrace.messages import InputRequest
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import call, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import ToolContext, tool
from tests.engine.input.asking import accept, agent_on, events_of, play, results_of, texts_of
from tests.engine.play import MODELS


class Till:
    """A tool that pays, and what it has paid."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []

        @tool(**options)
        async def pay(amount: int, context: ToolContext) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        self.pay = pay


PAYS = [turn(call("pay", amount=5)), turn(say("Done."))]


def test_a_call_that_is_approved_runs_once() -> None:
    till = Till(needs_approval=True)
    run = play(agent_on(PAYS, till.pay))
    assert till.paid == [5]
    asked, answered, started = (
        next(n for n, r in enumerate(run.records_so_far) if isinstance(r.event, kind))
        for kind in (ev.InputRequested, ev.InputAnswered, ev.ToolStarted)
    )
    assert asked < answered < started
    assert run.result.text == "Done."


def test_a_call_that_is_denied_does_not_run_and_the_model_is_told_why() -> None:
    till = Till(needs_approval=True)
    script = ScriptedTransport(PAYS)
    run = play(
        agent_on(script, till.pay), lambda _: {"decision": "denied", "reason": "Too expensive."}
    )
    assert till.paid == []
    assert events_of(run, ev.ToolStarted) == []
    assert "Too expensive." in str(script.requests[-1]["messages"][-1])
    assert results_of(run.message)[0].is_error
    assert run.result.text == "Done.", "the run goes on"


@pytest.mark.parametrize("dialect", MODELS)
def test_edited_arguments_reach_the_tool_and_the_model_is_told(dialect: str) -> None:
    till = Till(needs_approval=True)
    script = ScriptedTransport(PAYS, dialect=dialect)
    run = play(
        agent_on(script, till.pay, dialect=dialect),
        lambda _: {"value": {"amount": 3}, "by": "ann"},
    )
    assert till.paid == [3]
    assert events_of(run, ev.ToolStarted)[0].args == {"amount": 3}
    assert run.message.calls[0].args == {"amount": 5}, "what the model said stays"
    assert results_of(run.message)[0].edited_args == {"amount": 3}
    assert '{\\"amount\\":3}' in msgspec.json.encode(script.requests[-1]).decode()


def test_a_denial_with_other_arguments_edits_nothing() -> None:
    till = Till(needs_approval=True)
    run = play(agent_on(PAYS, till.pay), lambda _: {"decision": "denied", "value": {"amount": 1}})
    assert till.paid == []
    assert results_of(run.message)[0].edited_args is None


def test_edited_arguments_obey_the_rules_of_middleware() -> None:
    class Cap(Middleware):
        def before_tool(self, run: RunView, call: ToolCall) -> Allow | Deny:
            return Deny("too much") if call.args["amount"] > 10 else Allow(call.args)

    till = Till(needs_approval=True)
    run = play(agent_on(PAYS, till.pay, middleware=[Cap()]), lambda _: {"value": {"amount": 11}})
    assert till.paid == []
    assert texts_of(run.message) == ["too much"]


def test_edited_arguments_that_do_not_fit_the_tool_are_an_error_result() -> None:
    till = Till(needs_approval=True)
    run = play(agent_on(PAYS, till.pay), lambda _: {"value": {"amount": "lots"}})
    assert till.paid == []
    assert "do not fit" in texts_of(run.message)[0]


def test_always_holds_for_later_calls_of_that_tool_alone() -> None:
    till, other = Till(needs_approval=True), Till(needs_approval=True, name="refund")
    script = [
        turn(call("pay", amount=1)),
        turn(call("pay", amount=2), call("refund", amount=3)),
        turn(call("pay", amount=4)),
        turn(say("Done.")),
    ]
    asked: list[str] = []

    def answer(request: InputRequest) -> dict[str, Any]:
        asked.append(f"{request.name} {request.args['amount']}")
        return {"is_always": request.name == "pay"}

    agent = agent_on(script, till.pay, other.pay)
    play(agent, answer)
    assert asked == ["pay 1", "refund 3"]
    assert (till.paid, other.paid) == ([1, 2, 4], [3])


def test_always_does_not_reach_another_run() -> None:
    till = Till(needs_approval=True)
    agent = agent_on([*PAYS, *PAYS], till.pay)
    first = play(agent, lambda _: {"is_always": True})
    second = play(agent)
    assert len(events_of(first, ev.InputRequested)) == 1
    assert len(events_of(second, ev.InputRequested)) == 1


def test_always_with_a_denial_allows_nothing() -> None:
    till = Till(needs_approval=True)
    script = [turn(call("pay", amount=1)), turn(call("pay", amount=2)), turn(say("Done."))]
    play(agent_on(script, till.pay), lambda _: {"decision": "denied", "is_always": True})
    assert till.paid == []


def test_a_function_decides_by_the_arguments() -> None:
    till = Till(needs_approval=lambda args: args["amount"] > 3)
    script = [turn(call("pay", amount=2), call("pay", amount=5)), turn(say("Done."))]
    run = play(agent_on(script, till.pay))
    assert [event.args for event in events_of(run, ev.InputRequested)] == [{"amount": 5}]


def test_a_function_that_raises_counts_as_yes() -> None:
    till = Till(needs_approval=lambda args: args["no such argument"])
    run = play(agent_on(PAYS, till.pay), lambda _: {"decision": "denied"})
    assert len(events_of(run, ev.InputRequested)) == 1
    assert till.paid == []


def above(limit: int) -> Any:
    return lambda call, run: "ask" if call.args["amount"] > limit else "allow"


def by_user(call: ToolCall, run: RunView) -> Any:
    return "allow" if run.user == "ann" else "ask"


@pytest.mark.parametrize(
    ("rules", "default", "user", "verdict"),
    [
        ({"pay": "ask"}, "allow", None, "ask"),
        ({"p*": "deny"}, "allow", None, "deny"),
        ({"pa?": "allow", "*": "deny"}, "allow", None, "allow"),
        ({"refund": "deny"}, "ask", None, "ask"),
        ({"pay": above(4)}, "deny", None, "ask"),
        ({"pay": above(5)}, "deny", None, "allow"),
        ({"*": by_user}, "deny", "ann", "allow"),
        ({"*": by_user}, "deny", "bob", "ask"),
    ],
)  # fmt: skip
def test_rules_by_pattern_function_and_user(
    rules: Any, default: Any, user: str | None, verdict: str
) -> None:
    till = Till()
    agent = agent_on(PAYS, till.pay, middleware=[Approve(rules, default=default, message="Sure?")])
    run = play(agent, accept, user=user)
    asked = events_of(run, ev.InputRequested)
    assert [event.message for event in asked] == (["Sure?"] if verdict == "ask" else [])
    assert till.paid == ([] if verdict == "deny" else [5])


def test_a_rule_that_is_no_verdict_is_refused() -> None:
    with pytest.raises(UsageError, match="expected allow, ask or deny"):
        Approve({"pay": "perhaps"})  # type: ignore[dict-item]


@pytest.mark.parametrize("value", ["five", 5, [1]])
def test_an_approval_takes_only_an_object_as_arguments(value: Any) -> None:
    till = Till(needs_approval=True)

    async def main() -> None:
        async with agent_on(PAYS, till.pay).run("Go ahead.") as run:
            async for event in run:
                if isinstance(event, ev.InputRequested):
                    run.answer(event.request_id, value=value)

    with pytest.raises(UsageError, match="JSON object"):
        run_virtual(main())
    assert till.paid == []
