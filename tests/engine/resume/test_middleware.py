"""Built-in middleware of runs that are resumed, and of runs with sub-agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.engine import Agent, Budget, JSONLinesTrace
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import call, say, turn, usage
from headrace.transport.retry import NEVER


@headrace.tool
def dig() -> str:
    """Dig."""
    return "water"


@headrace.tool(needs_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


def _play(heard: Heard) -> Any:
    known = [message.result.name for message in heard.messages if message.result is not None]
    if "pay" in known:
        return turn(say("Done."))
    return turn(call("pay"), call("dig")) if "dig" in known else turn(call("dig"))


def agent_with(*middleware: headrace.Middleware, tools: Any = (dig, pay)) -> Agent:
    transport = ScriptedTransport(_play)
    return Agent("vllm:any", transport=transport, tools=tools, policy=NEVER, middleware=middleware)


def resumed(agent: Agent, suspended: Any) -> headrace.Run:
    run = agent.resume(suspended.records, input="Go.")
    with run:
        run.answer(run.requests[0].request_id)
        for _ in run:
            pass
    return run


def test_a_trace_has_each_record_once_and_one_summary(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with pytest.raises(headrace.InputRequired) as suspended:
        agent_with(JSONLinesTrace(path)).complete("Go.")
    before = len(path.read_text().splitlines())
    assert before == len(suspended.value.records)
    run = resumed(agent_with(JSONLinesTrace(path)), suspended.value)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["seq"] for line in lines[:-1]] == list(range(1, len(run.records_so_far) + 1))
    summary = lines[-1]["summary"]
    assert (summary["records"], summary["steps"]) == (len(lines) - 1, 3)
    assert summary["tool_calls"] == 3


def test_a_trace_with_a_sub_agent_has_one_summary(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    helper = Agent("vllm:helper", transport=ScriptedTransport([turn(say("Deep."))]), policy=NEVER)

    def play(heard: Heard) -> Any:
        return turn(say("So.")) if heard.messages[-1].result else turn(call("ask", task="how"))

    outer = Agent(
        "vllm:any",
        transport=ScriptedTransport(play),
        tools=[helper.as_tool("ask", "Ask.")],
        policy=NEVER,
        middleware=[JSONLinesTrace(path)],
    )
    outer.complete("Go.")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [n for n, line in enumerate(lines) if "summary" in line] == [len(lines) - 1]
    assert any(line.get("path") for line in lines)


def test_a_budget_counts_the_calls_before_a_resume() -> None:
    with pytest.raises(headrace.InputRequired) as suspended:
        agent_with(Budget(max_tool_calls=3)).complete("Go.")
    # One call had its result before, one after: with the one that was approved there are three.
    assert resumed(agent_with(Budget(max_tool_calls=3)), suspended.value).result.text == "Done."
    with agent_with(Budget(max_tool_calls=2)).resume(suspended.value.records, input="Go.") as run:
        for _ in run:
            pass
    assert run.result.finish is not None
    assert run.result.finish.detail == "max_tool_calls=2"


def test_a_budget_counts_what_sub_agents_used() -> None:
    helper = Agent(
        "vllm:helper",
        transport=ScriptedTransport([turn(say("Deep."), usage(output=500))]),
        policy=NEVER,
    )

    def play(heard: Heard) -> Any:
        return turn(say("So.")) if heard.messages[-1].result else turn(call("ask", task="how"))

    outer = Agent(
        "vllm:any",
        transport=ScriptedTransport(play),
        tools=[helper.as_tool("ask", "Ask.")],
        policy=NEVER,
        middleware=[Budget(max_tokens=400)],
    )
    result = outer.complete("Go.")
    assert result.finish is not None
    assert "max_tokens=400" in result.finish.detail
