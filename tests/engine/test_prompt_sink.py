"""A log that is handed records without a wait for each: nothing is shown before it has it."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence

import pytest

from headrace.engine import Run, RunLimits
from headrace.events import Record
from headrace.messages import fold
from headrace.outcome import abort_reason
from headrace.rehearsal.script import ScriptedTurn, call, refuse, say, stall, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import run_virtual
from tests.engine.play import Bench, agent_for, check_run

ADD = call("add", a=1, b=2)
Done = Callable[[Exception | None], None]


class PromptLog:
    """Keeps what it is given a moment later; breaks, or sticks, at some put."""

    is_shared = False

    def __init__(self, breaks_at: int = 0, sticks_at: int = 0) -> None:
        self.records: list[Record] = []
        self.puts = 0
        self._waiting: list[tuple[int, Sequence[Record], Done]] = []
        self._breaks_at = breaks_at
        self._sticks_at = sticks_at

    async def append(self, records: Sequence[Record]) -> None:
        raise AssertionError("nobody has to be asked, so nothing is waited for")

    def put(self, records: Sequence[Record], done: Done) -> None:
        self.puts += 1
        if not self._sticks_at or self.puts < self._sticks_at:
            self._waiting.append((self.puts, records, done))
            asyncio.get_running_loop().call_later(0.01, self._keep)

    def _keep(self) -> None:
        number, records, done = self._waiting.pop(0)
        if self._breaks_at and number >= self._breaks_at:
            done(OSError("no space left on device"))
        else:
            self.records += records
            done(None)


def play(log: PromptLog, transport: ScriptedTransport, cancel_after: int | None = None) -> Run:
    shown: list[Record] = []

    async def main() -> Run:
        limits = RunLimits(run_timeout_s=60, closing_s=1)
        run = agent_for("chat", transport, Bench(), limits).run("Go.", sink=log)
        async with run:
            async for record in run.records():
                shown.append(record)
                # What is shown is in the log, but for the end of a run whose log is lost.
                assert record in log.records or record is run.records_so_far[-1]
                if len(shown) == cancel_after:
                    run.cancel("enough")
        return run

    run = run_virtual(main(), leftover=[])
    assert shown == run.records_so_far
    assert run.message == fold(run.records_so_far)
    assert transport.open_streams == 0
    return run


def script() -> ScriptedTransport:
    return ScriptedTransport([turn(think("Hm."), ADD), turn("It is three.")])


def test_a_run_is_in_the_log_record_for_record() -> None:
    log = PromptLog()
    run = play(log, script())
    check_run(run, "chat")
    assert log.records == run.records_so_far


@pytest.mark.parametrize("at", range(1, 16))
def test_a_log_that_breaks_ends_the_run_as_a_failure_of_storage(at: int) -> None:
    log = PromptLog(breaks_at=at)
    run = play(log, script())
    assert run.result.error is not None
    assert run.result.error.category == "storage"
    assert log.records == run.records_so_far[:-1]


def test_a_log_that_breaks_while_the_provider_is_silent_ends_the_run_at_once() -> None:
    log = PromptLog(breaks_at=4)
    run = play(log, ScriptedTransport([turn(say("a b c"), stall())]))
    assert run.result.error is not None
    assert run.result.error.category == "storage"


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize(
    ("answer", "cancels"),
    [(turn(refuse(401)), False), (turn(stall()), False), (turn(stall()), True)],
    ids=["refused", "silent", "cancelled"],
)
def test_a_log_that_breaks_before_the_first_event_is_why_the_run_ends(
    at: int, answer: ScriptedTurn, cancels: bool
) -> None:
    """Whatever else would have ended it, no record follows that the log does not have."""
    log = PromptLog(breaks_at=at)

    async def main() -> Run:
        limits = RunLimits(run_timeout_s=60, closing_s=1)
        run = agent_for("chat", ScriptedTransport([answer]), Bench(), limits).run("Go.", sink=log)
        async with run:
            if cancels:
                asyncio.get_running_loop().call_later(5, run.cancel, "enough")
            await run.wait()
        return run

    run = run_virtual(main(), leftover=[])
    assert run.result.error is not None
    assert run.result.error.category == "storage"
    assert log.records == run.records_so_far[:-1]


class SharedLog(PromptLog):
    """Stores nothing until it is released. Other processes may claim its runs."""

    is_shared = True
    is_released = False

    def put(self, records: Sequence[Record], done: Done) -> None:
        if self.is_released:
            super().put(records, done)
            return
        self.puts += 1
        self._waiting.append((self.puts, records, done))

    def release(self) -> None:
        self.is_released = True
        while self._waiting:
            self._keep()


def test_the_model_is_asked_while_the_log_stores_the_start() -> None:
    log = PromptLog(sticks_at=1)
    transport = script()

    async def main() -> None:
        limits = RunLimits(run_timeout_s=60, closing_s=1)
        run = agent_for("chat", transport, Bench(), limits).run("Go.", sink=log)
        async with run:
            await asyncio.sleep(1)
            assert transport.opened == 1
            assert run.records_so_far == []
            run.cancel("enough")

    run_virtual(main(), leftover=[])
    assert transport.open_streams == 0


def test_the_model_is_not_asked_before_a_shared_log_has_stored_the_start() -> None:
    log = SharedLog()
    transport = script()

    async def main() -> Run:
        run = agent_for("chat", transport, Bench()).run("Go.", sink=log)
        async with run:
            await asyncio.sleep(1)
            assert transport.opened == 0
            log.release()
            await run.wait()
        return run

    run = run_virtual(main(), leftover=[])
    assert transport.opened == 2
    assert log.records == run.records_so_far


def test_a_log_that_never_answers_does_not_keep_a_run_from_ending() -> None:
    log = PromptLog(sticks_at=5)
    run = play(log, ScriptedTransport([turn(say("a b c"), stall())]))
    assert run.result.finish == abort_reason("timeout", "run_timeout_s=60")
    assert log.records == run.records_so_far[:-1]


@pytest.mark.parametrize("after", range(1, 16))
def test_a_cancelled_run_is_in_the_log_record_for_record(after: int) -> None:
    log = PromptLog()
    run = play(log, script(), cancel_after=after)
    check_run(run, "chat")
    assert log.records == run.records_so_far


def test_a_run_that_was_cancelled_while_the_provider_was_silent_holds_nothing() -> None:
    async def main() -> weakref.ref[Run]:
        transport = ScriptedTransport([turn(say("a b c"), stall())])
        run = agent_for("chat", transport, Bench()).run("Go.", sink=PromptLog())
        async with run:
            await asyncio.sleep(1)
            run.cancel("enough")
        return weakref.ref(run)

    gc.collect()
    gc.disable()
    try:
        assert run_virtual(main(), leftover=[])() is None
    finally:
        gc.enable()
