"""When the body of a call may run, and what it knows of earlier tries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from headrace import events as ev
from headrace.engine import Middleware, Run, RunLimits, RunView, ToolCall
from headrace.events import Record
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import call, say, turn
from headrace.tools import ToolContext, tool
from tests.engine.input.asking import agent_on, play, resume, texts_of


class HangingLog:
    """A log that never stores a record of one kind."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    async def append(self, records: Sequence[Record]) -> None:
        if any(isinstance(record.event, self._kind) for record in records):
            await asyncio.Event().wait()


def test_the_body_of_a_call_does_not_run_before_its_start_is_stored() -> None:
    ran: list[str] = []

    @tool
    async def pay() -> None:
        """Pay."""
        ran.append("pay")

    async def main(kind: type) -> Run[Any]:
        agent = agent_on([turn(call("pay")), turn(say("Done."))], pay, limits=RunLimits(settle_s=1))
        async with agent.run("Pay.", sink=HangingLog(kind)) as run:
            await asyncio.sleep(3600)
        return run

    run_virtual(main(ev.ToolStarted))
    assert ran == []
    run_virtual(main(ev.ToolResult))
    assert ran == ["pay"], "the log hangs later: the call has run"


def test_the_key_of_a_call_is_the_same_on_every_try_and_differs_from_all_others() -> None:
    keys: list[str] = []

    @tool(is_idempotent=True)
    async def put(n: int, context: ToolContext) -> str:
        """Put."""
        keys.append(context.idempotency_key)
        return "ok"

    def agent(*turns: Any) -> Any:
        nested = agent_on(
            lambda heard: (
                turn(say("ok"))
                if any(m.result for m in heard.messages)
                else turn(call("put", n=1, call_id="a"))
            ),
            put,
        )
        return agent_on(turns, put, nested.as_tool("helper", "Help."))

    script = [
        turn(call("put", n=1, call_id="a"), call("put", n=1, call_id="b")),
        turn(call("put", n=1, call_id="a")),
        turn(call("helper", task="x", call_id="a"), call("helper", task="x", call_id="b")),
        turn(call("helper", task="x", call_id="a")),
        turn(say("Done.")),
    ]
    whole = play(agent(*script), run_id="r")
    first = list(keys)
    assert len(first) == 6
    assert len(set(first)) == 6
    records = whole.records_so_far
    starts = [
        n
        for n, record in enumerate(records)
        if isinstance(record.event, ev.ToolStarted) and (record.path or record.step < 2)
    ]
    for number in starts:
        keys.clear()
        before = records[: number + 1]
        later = [t for step, t in enumerate(script) if step > _outer_step(before)]
        resume(agent(*later), before)
        assert keys
        assert set(keys) <= set(first), "a call that is run again has its old key"
    keys.clear()
    play(agent(*script), run_id="another")
    assert not set(keys) & set(first)


def _outer_step(records: Sequence[Record]) -> int:
    return max(record.step for record in records if not record.path)


def test_a_call_that_may_have_run_is_not_repeated_and_the_model_is_told() -> None:
    ran: list[str] = []

    @tool
    async def pay() -> str:
        """Pay."""
        ran.append("pay")
        return "paid"

    whole = play(agent_on([turn(call("pay")), turn(say("Done."))], pay))
    started = next(
        n for n, r in enumerate(whole.records_so_far) if isinstance(r.event, ev.ToolStarted)
    )
    ran.clear()
    run = resume(agent_on([turn(say("Checked."))], pay), whole.records_so_far[: started + 1])
    assert ran == []
    assert "may have taken effect" in texts_of(run.message)[0]
    assert run.result.text == "Checked."


def test_calls_that_had_their_result_count_after_a_resume() -> None:
    """Some of the calls of a turn were done before the last one was looked at."""

    class Slow(Middleware):
        async def before_tool(self, run: RunView, call: ToolCall) -> None:
            await asyncio.sleep(10)

    ran: list[int] = []

    @tool(is_idempotent=True)
    async def look(n: int) -> str:
        """Look."""
        await asyncio.sleep(n)
        ran.append(n)
        return str(n)

    limits = RunLimits(max_calls={"look": 2})
    options: Any = {"limits": limits, "middleware": [Slow()]}
    script = [turn(call("look", n=1), call("look", n=2), call("look", n=3)), turn(say("Done."))]
    whole = play(agent_on(script, look, **options))
    assert ran == [1, 2]
    records = whole.records_so_far
    for number, record in enumerate(records):
        if isinstance(record.event, ev.ToolResult):
            ran.clear()
            run = resume(agent_on(script[1:], look, **options), records[: number + 1])
            assert 3 not in ran
            assert sum("may be called 2 times" in text for text in texts_of(run.message)) == 1
