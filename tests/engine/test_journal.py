"""What the journal promises while middleware or the log fails, hangs or is too slow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.engine import Agent, Middleware, Run, RunLimits, RunView, Terminate
from headrace.engine.journal.journal import Journal
from headrace.engine.journal.sink import SinkFailed
from headrace.engine.middleware.chain import Chain
from headrace.events import Record
from headrace.outcome import END_TURN
from headrace.testing import ScriptedTransport, call, run_virtual, say, stall, turn
from headrace.usage import Usage
from tests.engine.play import MODELS, Bench, agent_for, check_run
from tests.engine.test_prompt_sink import Done

SECRET = "sesame-47"
CLOSING = RunLimits(run_timeout_s=5, closing_s=1)


# --- a rewriter that fails ----------------------------------------------------------------


class FailingRewriter(Middleware):
    """Raises for the first event of a type."""

    def __init__(self, kind: type[Any], error: Exception) -> None:
        self._kind = kind
        self._error: Exception | None = error

    async def rewrite_event(self, run: RunView, event: ev.Event) -> ev.Event:
        error = self._error
        if error is not None and isinstance(event, self._kind):
            self._error = None
            raise error
        return event


@pytest.mark.parametrize("error", [ValueError("broken"), Terminate("stop")])
def test_a_result_that_could_not_be_rewritten_is_not_shown(error: Exception) -> None:
    """A rewriter that fails may have been about to remove a secret."""

    async def unlock() -> str:
        """Return the password."""
        return SECRET

    async def main() -> Run:
        agent = Agent(
            MODELS["chat"],
            transport=ScriptedTransport([turn(call("unlock")), "never"]),
            api_key="k",
            tools=[unlock],
            middleware=[FailingRewriter(ev.ToolResult, error)],
        )
        async with agent.run("Go.") as run:
            await run.wait()
        return run

    run = run_virtual(main())
    check_run(run, "chat", is_rewritten=True)
    (result,) = (r.event for r in run.records_so_far if isinstance(r.event, ev.ToolResult))
    assert result.is_error
    assert SECRET.encode() not in msgspec.json.encode(run.records_so_far)
    assert SECRET not in str(run.messages)


# --- what hangs ---------------------------------------------------------------------------


class HangingRewriter(Middleware):
    """Hangs at the first text, and observes what is written."""

    def __init__(self) -> None:
        self.observed: list[object] = []

    async def rewrite_event(self, run: RunView, event: ev.Event) -> ev.Event:
        if isinstance(event, ev.TextDelta):
            await asyncio.sleep(1e6)
        return event

    def on_event(self, run: RunView, record: Record) -> None:
        self.observed.append(record.event)


class HangingSink:
    """Hangs at the first text."""

    async def append(self, records: Sequence[Record]) -> None:
        if any(isinstance(record.event, ev.TextDelta) for record in records):
            await asyncio.sleep(1e6)


def play_hanging(middleware: Sequence[Middleware] = (), sink: HangingSink | None = None) -> Run:
    transport = ScriptedTransport([turn(say("a b c"), stall())])

    async def main() -> Run:
        agent = agent_for("chat", transport, Bench(), CLOSING, middleware=middleware)
        async with agent.run("Go.", sink=sink) as run:
            await run.wait()
        return run

    # Raises if a task is left.
    return run_virtual(main())


def test_a_rewriter_that_was_given_up_is_cancelled_and_not_called_again() -> None:
    middleware = HangingRewriter()
    run = play_hanging([middleware])
    # What was written before the rewriter was given up is all that it observes.
    written = [record.event for record in run.records_so_far]
    assert middleware.observed == written[: len(middleware.observed)]
    assert not any(isinstance(e, ev.TurnFailed | ev.RunFinished) for e in middleware.observed)
    assert isinstance(written[-1], ev.RunFinished)


def test_a_log_that_was_given_up_is_cancelled() -> None:
    run = play_hanging(sink=HangingSink())
    assert isinstance(run.records_so_far[-1].event, ev.RunFinished)


# --- a log that is slow or fails ----------------------------------------------------------


class ManualLog:
    """A log that stores nothing until it is told to."""

    is_shared = False

    def __init__(self) -> None:
        self.waiting: list[Done] = []

    async def append(self, records: Sequence[Record]) -> None:
        raise AssertionError("`put` is used instead")

    def put(self, records: Sequence[Record], done: Done) -> None:
        self.waiting.append(done)

    def answer(self, error: Exception | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for done in waiting:
            done(error)


def open_journal(log: ManualLog) -> Journal:
    return Journal(RunView("r", "m"), Chain(()), lambda: 0.0, log)


def test_the_end_of_a_run_is_shown_although_its_log_has_failed() -> None:
    log = ManualLog()
    journal = open_journal(log)

    async def main() -> None:
        journal.put([ev.RunStarted("r", "m", None)])
        log.answer()
        journal.put([ev.StepStarted(0)])
        log.answer(OSError("no space left on device"))
        with pytest.raises(SinkFailed):
            await journal.flush()
        journal.put([ev.StepFinished(0), ev.RunFinished(END_TURN, Usage())])

    run_virtual(main())
    assert journal.is_over
    assert [type(record.event) for record in journal.records] == [ev.RunStarted, ev.RunFinished]
    assert [record.seq for record in journal.records] == [1, 2]
