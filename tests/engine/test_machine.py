"""Random runs with faults on a virtual clock: the design's guarantees as named invariants.

`make soak` plays more of them. A failing example is replayed from hypothesis's own database, or
with the seed that it prints.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from headrace import events as ev
from headrace.engine import Middleware, Run, RunLimits, RunView, Terminate, ToolContext
from headrace.engine.agent import Agent
from headrace.events import Record
from headrace.messages import fold
from headrace.rehearsal.clock import VirtualLoop
from headrace.rehearsal.script import (
    Line,
    call,
    cut,
    error,
    finish,
    no_finish,
    redacted,
    refuse,
    say,
    stall,
    think,
    turn,
    wait,
)
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from tests.engine.play import MODELS, check_answered, check_next_request, check_order

EXAMPLES = int(os.environ.get("HEADRACE_SOAK_RUNS", "500"))
STEPS = 16

LINES = st.one_of(
    st.builds(say, st.sampled_from(["Some words here.", "x", "One two three four."])),
    st.builds(
        lambda text, signed: think(text, signed=signed),
        st.sampled_from(["Let me see.", "Hm."]),
        st.sampled_from([None, True, False]),
    ),
    st.just(redacted("abc")),
    st.just(call("quick", n=1)),
    st.just(call("slow", n=2)),
    st.just(call("broken", n=1)),
    st.just(call("quick", n="no number")),
    st.just(call("quick", raw='{"n": ')),
    st.just(call("nowhere", a=1)),
    st.just(call("ending", n=1)),
    st.just(wait(2.0)),
)
FAULTS = st.sampled_from(
    [cut(), stall(), no_finish(), error("overloaded", "busy"), error("server", "broken")]
)
ENDINGS = st.sampled_from(["", "", "", "max_tokens", "content_filter", "odd"])


@dataclass
class World:
    """What the tools have done."""

    running: int = 0
    started: int = 0
    ended: int = 0

    def tools(self) -> list[Callable[..., Any]]:
        async def quick(n: int) -> int:
            """Answer at once."""
            return n

        async def slow(n: int, context: ToolContext) -> str:
            """Take a while."""
            self.running += 1
            try:
                for place in range(n):
                    context.progress(progress=place / n)
                    await asyncio.sleep(1)
                return "slept"
            finally:
                self.running -= 1

        async def broken(n: int) -> None:
            """Break."""
            raise ValueError("broken tool")

        async def ending(n: int) -> None:
            """End the run."""
            raise Terminate("a tool ended it")

        return [quick, slow, broken, ending]


class Meddler(Middleware):
    """Does what it is told, at the event that it is told."""

    def __init__(self, at: int, deed: str) -> None:
        self._left = at
        self._deed = deed
        self.seen: list[Record] = []
        self.ends: list[Any] = []

    def on_event(self, run: RunView, record: Record) -> None:
        self.seen.append(record)
        self._left -= 1
        if self._left == 0 and self._deed == "terminate":
            raise Terminate("meddled")
        if self._left == 0 and self._deed == "raise":
            raise ValueError("meddled")

    def on_run_end(self, run: RunView, event: Any) -> None:
        self.ends.append(event)


class EngineMachine(RuleBasedStateMachine):
    """Writes a script line by line, then runs it, reads it, and disturbs it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop(20.0)
        self.world = World()
        self.turns: list[list[Line]] = [[]]
        self.run: Run | None = None
        self.read: list[Record] = []
        self.reader: Any = None
        self.is_entered = False

    @initialize(
        dialect=st.sampled_from(list(MODELS)),
        deed=st.sampled_from([""] * 6 + ["terminate", "raise"]),
        at=st.integers(1, 40),
        timeout=st.sampled_from([None, None, 3.0, 11.0]),
        attempts=st.integers(1, 2),
        late=st.booleans(),
        is_patient=st.sampled_from([True, True, True, False]),
    )
    def begin(
        self,
        dialect: str,
        deed: str,
        at: int,
        timeout: Any,
        attempts: int,
        late: bool,
        is_patient: bool,
    ) -> None:
        self.dialect = dialect
        self.is_patient = is_patient
        self.meddler = Meddler(at, deed)
        self.limits = RunLimits(
            run_timeout_s=timeout,
            turn_timeout_s=20.0,
            max_iterations=4,
            turn_attempts=attempts,
            retries_late=late,
            tool_timeout_s=30.0,
        )

    # -- writing the script

    @precondition(lambda self: self.run is None)
    @rule(line=LINES)
    def write(self, line: Line) -> None:
        self.turns[-1].append(line)

    @precondition(lambda self: self.run is None and self.turns[-1])
    @rule(
        fault=FAULTS,
        ending=ENDINGS,
        is_fault=st.sampled_from([False, False, False, True]),
        status=st.sampled_from([0] * 9 + [429, 500]),
    )
    def end_turn(self, fault: Line, ending: str, is_fault: bool, status: int) -> None:
        if status:
            self.turns[-1] = [refuse(status)]
        elif is_fault:
            self.turns[-1].append(fault)
        elif ending:
            self.turns[-1].append(finish(ending))
        self.turns.append([])

    # -- playing it

    @precondition(lambda self: self.run is None and sum(map(len, self.turns)) > 2)
    @rule()
    def start(self) -> None:
        turns = [turn(*lines, pace_s=0.5) if lines else turn("Done.") for lines in self.turns]
        self.transport = ScriptedTransport([*turns, *[turn("Done.")] * 8], dialect=self.dialect)
        agent = Agent(
            MODELS[self.dialect],
            transport=self.transport,
            api_key="k",
            tools=self.world.tools(),
            middleware=[self.meddler],
            limits=self.limits,
            policy=NEVER,
        )
        self.run = agent.run("Go.", clock=lambda: self.loop.time() * 1000)
        self._do(self.run.__aenter__())
        self.is_entered = True
        self.reader = aiter(self.run.records())

    @precondition(lambda self: self.is_entered)
    @rule(count=st.integers(1, 20))
    def read_on(self, count: int) -> None:
        for _ in range(count):
            try:
                self.read.append(self._do(anext(self.reader)))
            except StopAsyncIteration:
                return

    @precondition(lambda self: self.is_entered)
    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0]))
    def let_time_pass(self, seconds: float) -> None:
        self._do(asyncio.sleep(seconds))

    @precondition(lambda self: self.is_entered)
    @rule(after=st.integers(0, 40))
    def cancel(self, after: int) -> None:
        self.read_on(after)

        async def cancel() -> None:
            assert self.run is not None
            self.run.cancel()

        self._do(cancel())

    @precondition(lambda self: self.is_entered)
    @rule(after=st.integers(0, 40))
    def leave(self, after: int) -> None:
        assert self.run is not None
        self.read_on(after)
        self.is_entered = False
        self._do(self._left(self.run))

    @precondition(lambda self: self.run is not None and not self.is_entered)
    @rule()
    def rest(self) -> None:
        """Nothing is left to do."""

    async def _left(self, run: Run) -> None:
        await run.__aexit__(ValueError, ValueError("left"), None)

    def _do(self, work: Any) -> Any:
        self.loop.extend(20.0)
        return self.loop.run_until_complete(work)

    # -- what holds at any moment

    @invariant()
    def the_journal_grows_without_gaps(self) -> None:
        if self.run is not None:
            assert [r.seq for r in self.run.records_so_far] == list(
                range(1, len(self.run.records_so_far) + 1)
            )

    @invariant()
    def readers_see_what_is_logged(self) -> None:
        if self.run is not None:
            assert self.read == self.run.records_so_far[: len(self.read)]

    @invariant()
    def middleware_sees_what_is_logged(self) -> None:
        if self.run is not None:
            assert self.meddler.seen == self.run.records_so_far[: len(self.meddler.seen)]

    @invariant()
    def there_is_at_most_one_end_and_it_is_last(self) -> None:
        if self.run is not None:
            ends = [
                r.seq
                for r in self.run.records_so_far
                if isinstance(r.event, ev.RunFinished | ev.RunFailed)
            ]
            assert ends in ([], [len(self.run.records_so_far)])

    @invariant()
    def the_message_is_the_folded_log(self) -> None:
        if self.run is not None:
            assert self.run.message == fold(self.run.records_so_far)

    def teardown(self) -> None:
        try:
            if self.is_entered and self.is_patient:
                self.read_on(10_000)
            if self.is_entered and self.run is not None:
                self._do(self._left(self.run))
            if self.run is not None:
                self._check_end(self.run)
            assert not asyncio.all_tasks(self.loop)
        finally:
            self.loop.close()

    def _check_end(self, run: Run) -> None:
        check_order(run.records_so_far)
        check_answered(run.records_so_far)
        check_next_request(run.messages, self.dialect)
        assert self.meddler.seen == run.records_so_far
        assert len(self.meddler.ends) == 1
        assert self.transport.open_streams == 0
        assert self.world.running == 0
        _counted.append(len(run.records_so_far))


_counted: list[int] = []


@pytest.mark.timeout(600)
def test_any_run_keeps_the_guarantees(record_property: Callable[[str, object], None]) -> None:
    machine = EngineMachine.TestCase
    machine.settings = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    machine("runTest").runTest()
    record_property("summary", f"engine machine: {len(_counted)} runs, {sum(_counted)} records")
    # Some examples never get as far as a run.
    assert len(_counted) >= EXAMPLES * 5 // 8
