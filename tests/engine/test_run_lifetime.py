"""What outlives a run: nothing but its result. And what runs of one agent share."""

from __future__ import annotations

import gc
import weakref

import pytest

from headrace import events as ev
from headrace.engine import Agent, CancelToken, Run, ToolContext
from headrace.errors import UsageError
from headrace.outcome import abort_reason
from headrace.testing import ScriptedTransport, call, run_virtual, say, turn, wait
from tests.engine.play import MODELS, Bench, agent_for


def test_a_token_forgets_a_run_that_has_ended() -> None:
    token = CancelToken()

    async def main() -> weakref.ref[Run]:
        agent = agent_for("chat", ScriptedTransport(["Hi."]), Bench())
        async with agent.run("Go.", token=token) as run:
            await run.wait()
        return weakref.ref(run)

    run = run_virtual(main())
    gc.collect()
    assert run() is None, "the token keeps the run alive"


def test_a_token_that_was_cancelled_calls_a_listener_at_once_and_once() -> None:
    token = CancelToken()
    details: list[str] = []
    token.cancel("closing time")
    remove = token.add(details.append)
    assert details == ["closing time"]
    remove()
    token.cancel("again")
    assert details == ["closing time"]


def test_a_listener_that_was_removed_is_not_called() -> None:
    token = CancelToken()
    details: list[str] = []
    remove = token.add(details.append)
    remove()
    remove()
    token.cancel("closing time")
    assert details == []


def test_the_first_cancellation_counts() -> None:
    async def main() -> Run:
        agent = agent_for("chat", ScriptedTransport([turn(say("Hi."), wait(5))]), Bench())
        async with agent.run("Go.") as run:
            async for event in run:
                if isinstance(event, ev.TextDelta):
                    run.cancel("the first")
                    run.cancel("the second")
        return run

    assert run_virtual(main()).result.finish == abort_reason("cancelled", "the first")


def test_the_progress_of_a_tool_is_told_although_the_run_is_cancelled() -> None:
    """Reports that wait when the run is stopped come before the result of the tool."""
    runs: list[Run] = []

    async def work(context: ToolContext) -> str:
        """Work."""
        context.progress("begun")
        context.progress("half done")
        runs[0].cancel("enough")
        return "done"

    async def main() -> Run:
        agent = Agent(
            MODELS["chat"],
            transport=ScriptedTransport([turn(call("work")), "never"]),
            api_key="k",
            tools=[work],
        )
        async with agent.run("Go.") as run:
            runs.append(run)
            await run.wait()
        return run

    run = run_virtual(main())
    told = [r.event.status for r in run.records_so_far if isinstance(r.event, ev.ToolProgress)]
    assert told == ["begun", "half done"]
    assert [r.event for r in run.records_so_far if isinstance(r.event, ev.ToolResult)]


def test_an_agent_shares_its_connections_only_if_it_is_told_to() -> None:
    async def main() -> None:
        agent = Agent("rehearsal:demo")
        first, second = agent._resolve_model(), agent._resolve_model()
        assert first.transport is not second.transport
        assert first.owns_transport
        agent.share_connections()
        shared = agent._resolve_model()
        assert agent._resolve_model().transport is shared.transport
        assert not shared.owns_transport
        agent.share_connections()
        assert agent._resolve_model().transport is shared.transport, "called twice"
        await agent.aclose()
        assert agent._resolve_model().transport is not shared.transport

    run_virtual(main())


def test_check_refuses_an_agent_whose_runs_cannot_start_each_time() -> None:
    agent = Agent(MODELS["anthropic"], api_key="k", seed=1)
    for _ in range(2):
        with pytest.raises(UsageError, match="seed"):
            agent.check()
    Agent(MODELS["chat"], api_key="k", seed=1).check()
