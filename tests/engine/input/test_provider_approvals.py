"""Calls that the provider runs, and for which it asks first: `mcp_approval_request` of OpenAI."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import Agent, Allow, Approve, Middleware, Run, RunLimits, RunView, ToolCall
from headrace.errors import InputRequired, UsageError
from headrace.messages import InputRequest, Message
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import Approval, ScriptedTurn, approval, call, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import tool
from tests.engine.input.asking import (
    QUESTION,
    accept,
    agent_on,
    events_of,
    play,
    read,
    results_of,
    resume,
)
from tests.engine.play import MODELS, check_next_request, clock
from tests.published import accepts

DELETES = approval("delete_file", server="files", path="a.txt")
DONE = turn(say("Done."))


@tool(needs_approval=True)
async def delete_file(path: str) -> str:
    """Delete a file of this machine."""
    return "gone"


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def scripted(*turns: ScriptedTurn) -> ScriptedTransport:
    return ScriptedTransport(list(turns), dialect="responses")


def agent_of(script: ScriptedTransport, *tools: Any, **options: Any) -> Agent[Any]:
    return agent_on(script, *tools, dialect="responses", **options)


def responses_in(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answers to the provider's requests, and check the body."""
    accepts("responses", body)
    items = body["input"]
    asked = [item["id"] for item in items if item["type"] == "mcp_approval_request"]
    found = [item for item in items if item["type"] == "mcp_approval_response"]
    assert asked == [item["approval_request_id"] for item in found]
    return found


def approved_in(body: dict[str, Any]) -> list[bool]:
    return [item["approve"] for item in responses_in(body)]


def test_an_approval_goes_back_to_the_provider_and_the_run_goes_on() -> None:
    script = scripted(turn(think("Hm.", signed=True), DELETES), DONE)
    asked: list[InputRequest] = []

    def answer(request: InputRequest) -> dict[str, Any]:
        asked.append(request)
        return {"by": "ann"}

    run = play(agent_of(script), answer)
    (request,) = asked
    assert (request.kind, request.name, request.args) == (
        "approval",
        "delete_file",
        {"path": "a.txt"},
    )
    assert request.server == "files"
    assert "delete_file" in request.message
    assert "files" in request.message
    (found,) = responses_in(script.requests[1])
    assert found["approve"] is True
    assert run.result.text == "Done."
    assert results_of(run.message) == [], "the provider has the result"
    check_next_request([Message.user(QUESTION), run.message], "responses")


def test_a_denial_goes_back_with_its_reason() -> None:
    script = scripted(turn(DELETES), DONE)
    play(agent_of(script), lambda _: {"decision": "denied", "reason": "Keep it."})
    (found,) = responses_in(script.requests[1])
    assert (found["approve"], found["reason"]) == (False, "Keep it.")


def test_several_requests_beside_calls_of_ours() -> None:
    script = scripted(
        turn(approval("read_file", path="a"), call("add", a=1, b=2), DELETES),
        DONE,
    )
    run = play(
        agent_of(script, add),
        lambda request: {"decision": "accepted" if request.name == "read_file" else "denied"},
    )
    assert approved_in(script.requests[1]) == [True, False]
    outputs = [i for i in script.requests[1]["input"] if i["type"] == "function_call_output"]
    assert [item["output"] for item in outputs] == ["3"]
    assert run.result.text == "Done."


def test_the_arguments_of_a_call_of_the_provider_cannot_be_edited() -> None:
    script = scripted(turn(DELETES), DONE)
    refused: list[str] = []

    async def main() -> Run[Any]:
        async with agent_of(script).run(QUESTION, clock=clock()) as run:
            async for event in run:
                if isinstance(event, ev.InputRequested):
                    with pytest.raises(UsageError) as error:
                        run.answer(event.request_id, value={"path": "b.txt"})
                    refused.append(str(error.value))
                    run.answer(event.request_id)
        return run

    run_virtual(main())
    assert "delete_file" in refused[0]
    assert "files" in refused[0]
    assert approved_in(script.requests[1]) == [True]


def test_a_run_is_suspended_and_resumed() -> None:
    script = scripted(turn(DELETES), DONE)
    first = play(agent_of(script), lambda _: None, suspends=True)
    assert isinstance(first.records_so_far[-1].event, ev.RunSuspended)
    with pytest.raises(InputRequired):
        _ = first.result
    second = scripted(DONE)
    run = resume(agent_of(second), first.records_so_far)
    assert len(events_of(run, ev.InputRequested)) == 1
    assert approved_in(second.requests[0]) == [True]
    assert run.result.text == "Done."


def test_a_cancelled_run_answers_what_is_open_and_the_next_request_denies() -> None:
    script = scripted(turn(DELETES), DONE)

    async def main() -> Run[Any]:
        async with agent_of(script).run(QUESTION, clock=clock()) as run:
            async for event in run:
                if isinstance(event, ev.InputRequested):
                    run.cancel("Stop.")
        return run

    run = run_virtual(main())
    assert str(run.message.finish) == "aborted(cancelled: Stop.)"
    assert run.requests == []
    (answer,) = events_of(run, ev.InputAnswered)
    assert answer.decision == "expired"
    check_next_request([Message.user(QUESTION), run.message], "responses")
    later = scripted(DONE)

    async def ask_again() -> Run[Any]:
        history = [Message.user(QUESTION), run.message]
        return await read(agent_of(later).run("And now?", history, clock=clock()))

    run_virtual(ask_again())
    assert approved_in(later.requests[0]) == [False]


@pytest.mark.parametrize("on_expiry", ["end", "continue"])
def test_a_request_expires(on_expiry: Any) -> None:
    script = scripted(turn(DELETES), DONE)
    limits = RunLimits(input_timeout_s=5.0, on_expiry=on_expiry)
    run = play(agent_of(script, limits=limits), lambda _: None)
    assert events_of(run, ev.InputAnswered)[0].decision == "expired"
    if on_expiry == "end":
        assert run.message.finish is not None
        assert run.message.finish.kind == "timeout"
        assert len(script.requests) == 1
    else:
        assert approved_in(script.requests[1]) == [False]


def test_always_holds_for_the_same_tool_of_the_same_server_alone() -> None:
    script = scripted(
        turn(DELETES),
        turn(
            DELETES,
            approval("delete_file", server="photos", path="a"),
            call("delete_file", path="a"),
        ),
        DONE,
    )
    asked: list[str] = []

    def answer(request: InputRequest) -> dict[str, Any]:
        asked.append(f"{request.server} {request.name}")
        return {"is_always": request.server == "files"}

    run = play(agent_of(script, delete_file), answer)
    assert sorted(asked) == sorted(["files delete_file", "photos delete_file", "None delete_file"])
    assert len(events_of(run, ev.InputAnswered)) == 4, "what was decided before is recorded too"
    assert approved_in(script.requests[2]) == [True, True, True]


def test_an_approval_of_our_tool_does_not_hold_for_one_of_the_provider() -> None:
    script = scripted(turn(call("delete_file", path="a")), turn(DELETES), DONE)
    asked: list[str | None] = []

    def answer(request: InputRequest) -> dict[str, Any]:
        asked.append(request.server)
        return {"is_always": True}

    play(agent_of(script, delete_file), answer)
    assert asked == [None, "files"]


def test_rules_deny_by_name_and_ask_with_their_message() -> None:
    script = scripted(turn(DELETES, approval("read_file", path="a")), DONE)
    rules = Approve({"delete_*": "deny", "read_*": "ask"}, message="Really?", expires_in_s=60)
    asked: list[InputRequest] = []

    def answer(request: InputRequest) -> dict[str, Any]:
        asked.append(request)
        return {}

    run = play(agent_of(script, middleware=[rules]), answer)
    assert [request.name for request in asked] == ["read_file"]
    assert "Really?" in asked[0].message
    assert asked[0].expires_at_ms is not None
    denied, allowed = responses_in(script.requests[1])
    assert (denied["approve"], denied["reason"]) == (False, "delete_file is not allowed.")
    assert allowed["approve"] is True
    assert run.result.text == "Done."


def test_middleware_that_changes_the_arguments_denies_the_call() -> None:
    class Replace(Middleware):
        def before_tool(self, run: RunView, call: ToolCall) -> Allow:
            return Allow({"path": "b.txt"})

    script = scripted(turn(DELETES), DONE)
    play(agent_of(script, middleware=[Replace()]))
    (found,) = responses_in(script.requests[1])
    assert found["approve"] is False
    assert "arguments" in found["reason"]


def test_malformed_arguments_are_denied_without_asking() -> None:
    script = scripted(turn(Approval(name="delete_file", server="files", raw='{"path"')), DONE)
    asked: list[InputRequest] = []

    def answer(request: InputRequest) -> dict[str, Any]:
        asked.append(request)
        return {}

    play(agent_of(script), answer)
    assert asked == []
    assert approved_in(script.requests[1]) == [False]


@pytest.mark.parametrize("dialect", [name for name in MODELS if name != "responses"])
def test_a_history_with_requests_of_another_provider_is_sent_without_them(dialect: str) -> None:
    run = play(agent_of(scripted(turn(say("I ask."), DELETES), DONE)))
    check_next_request([Message.user(QUESTION), run.message], dialect)


def test_a_sub_agent_asks_through_the_outer_run() -> None:
    inner = scripted(turn(DELETES), turn(say("Gone.")))
    outer = scripted(turn(call("clean", task="Clean up.")), DONE)
    agent = agent_of(outer, agent_of(inner).as_tool("clean", "Clean up."))
    run = play(agent, accept)
    assert approved_in(inner.requests[1]) == [True]
    assert run.result.text == "Done."
