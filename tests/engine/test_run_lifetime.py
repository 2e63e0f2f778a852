"""What outlives a run: nothing but its result. And what runs of one agent share."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import Agent, CancelToken, Run, ToolContext
from headrace.engine.journal.run_log import MAX_WAITING
from headrace.errors import UsageError
from headrace.outcome import abort_reason
from headrace.testing import ScriptedTransport, call, run_virtual, say, stall, turn, wait
from tests.engine.play import MODELS, Bench, agent_for, check_run


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


def test_what_a_tool_reports_after_its_result_is_not_written() -> None:
    """A tool may leave work behind that still reports, while the run is cancelled later."""

    async def work(context: ToolContext) -> str:
        """Work."""
        asyncio.get_running_loop().call_later(1, context.progress, "late")
        return "done"

    async def main() -> Run:
        transport = ScriptedTransport([turn(call("work")), turn(say("Hm."), stall())])
        agent = Agent(MODELS["chat"], transport=transport, api_key="k", tools=[work])
        async with agent.run("Go.") as run:
            await asyncio.sleep(2)
            run.cancel("enough")
            await run.wait()
        return run

    run = run_virtual(main())
    check_run(run, "chat")
    assert not [r for r in run.records_so_far if isinstance(r.event, ev.ToolProgress)]


# --- the end of a run and its task --------------------------------------------------------


@pytest.mark.parametrize("reads", [0, 1])
def test_a_run_that_nobody_reads_any_more_ends_when_it_is_left(reads: int) -> None:
    """The run waits for a slow reader, but not for one that has gone."""

    async def main() -> Run:
        transport = ScriptedTransport([turn(say("word " * (2 * MAX_WAITING)))])
        async with agent_for("chat", transport, Bench()).run("Go.") as run:
            left = reads
            while left:
                await anext(aiter(run))
                left -= 1
            await asyncio.sleep(1)
            assert len(run.records_so_far) < 2 * MAX_WAITING, "the run did not wait"
        return run

    run = run_virtual(main())
    check_run(run, "chat")
    assert run.result.finish == abort_reason("cancelled", "the caller left the run")


def find_task(run: Run) -> asyncio.Task[Any]:
    return next(task for task in asyncio.all_tasks() if task.get_name() == f"run {run.run_id}")


def test_the_task_of_a_cancelled_run_has_no_cancellation_left() -> None:
    """Otherwise timeouts and task groups in what closes the connections would misbehave."""

    async def main() -> None:
        transport = ScriptedTransport([turn(say("Hi."), stall())])
        async with agent_for("chat", transport, Bench()).run("Go.") as run:
            await asyncio.sleep(1)
            task = find_task(run)
            run.cancel("enough")
            await run.wait()
        assert not task.cancelled()
        assert task.cancelling() == 0

    run_virtual(main())


class SlowlyClosed(ScriptedTransport):
    """A transport whose streams take a second to close."""

    closed = 0

    async def open(self, call: Any) -> Any:
        return _SlowlyClosedStream(await super().open(call), self)


class _SlowlyClosedStream:
    request_id: str | None = None
    first_event_by_s: float | None = None

    def __init__(self, inner: Any, owner: SlowlyClosed) -> None:
        self._inner = inner
        self._owner = owner

    def __aiter__(self) -> Any:
        return aiter(self._inner)

    async def aclose(self) -> None:
        await asyncio.sleep(1)
        await self._inner.aclose()
        self._owner.closed += 1


def test_the_connection_is_closed_although_the_task_is_cancelled_again_meanwhile() -> None:
    transport = SlowlyClosed([turn(say("Hi."), stall())])

    async def main() -> Run:
        async with agent_for("chat", transport, Bench()).run("Go.") as run:
            await asyncio.sleep(1)
            task = find_task(run)
            run.cancel("enough")
            await asyncio.sleep(0.5)
            task.cancel()
            await run.wait()
        return run

    check_run(run_virtual(main()), "chat")
    assert transport.closed
    assert transport.open_streams == 0


# --- what runs of an agent share ----------------------------------------------------------


def test_an_agent_shares_its_connections_only_if_it_is_told_to() -> None:
    async def main() -> None:
        agent = Agent("rehearsal:demo")
        first, second = agent._targets(())[0].model, agent._targets(())[0].model
        assert first.transport is not second.transport
        assert first.owns_transport
        agent.share_connections()
        shared = agent._targets(())[0].model
        assert agent._targets(())[0].transport is shared.transport
        assert not shared.owns_transport
        agent.share_connections()
        assert agent._targets(())[0].transport is shared.transport, "called twice"
        await agent.aclose()
        assert agent._targets(())[0].transport is not shared.transport

    run_virtual(main())


def test_check_refuses_an_agent_whose_runs_cannot_start_each_time() -> None:
    agent = Agent(MODELS["anthropic"], api_key="k", seed=1)
    for _ in range(2):
        with pytest.raises(UsageError, match="seed"):
            agent.check()
    Agent(MODELS["chat"], api_key="k", seed=1).check()
