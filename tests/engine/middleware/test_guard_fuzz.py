"""Rewriters that do anything at all, over whole runs: what is written stays a legal run."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.engine import Agent, Middleware, Run, RunLimits, RunView
from headrace.engine.middleware.chain import MiddlewareFailed
from headrace.events import Event
from headrace.testing import (
    ScriptedTransport,
    call,
    cut,
    error,
    redacted,
    run_virtual,
    say,
    think,
    turn,
)
from tests.engine.middleware.guarded import called, text, thought
from tests.engine.play import MODELS, Bench, check_run

SCRIPTS: list[Callable[[], list[Any]]] = [
    lambda: [
        turn(think("Let me look.", signed=True), say("Both."), call("add", a=1, b=2), call("fly")),
        turn(think("Again."), say("Done.")),
    ],
    lambda: [
        turn(redacted("xyz"), call("add", a=1, b=2), call("slow", n=2), is_interleaved=True),
        turn(think("Then.", signed=True), call("add", raw='{"a": 1, ')),
        turn(say("So be it.")),
    ],
    lambda: [turn(error()), turn(think("Once more."), call("add", a=1, b=1)), turn(say("Two."))],
    lambda: [turn(say("Half"), call("add", a=1, b=1), cut()), turn(say("Whole."))],
]
# Values that fit some field, and some that fit none.
VALUES: list[Any] = [
    0, 1, 2, 3, 7, -1, 2**70, None, "", "X", "call_1", "\ud800", b"x", True, 0.5, object(),
    {"a": 1}, {"a": object()}, (TextContent("x"),), (), "client", "provider", "text", '{"a": 9}',
]  # fmt: skip


class Vandal(Middleware):
    """Leaves out, repeats, moves, mixes up, breaks and adds events; and fails now and then."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._strength = self._random.choice([0.02, 0.1, 0.3, 0.9])
        self._fails = self._random.random() < 0.1
        self._seen: list[Event] = []
        self._held: list[Event] = []
        self._ways = [
            self._drop, self._twice, self._before, self._after, self._hold, self._release,
            self._instead, self._break, self._break, self._break_added, self._add, self._raise,
        ]  # fmt: skip

    def rewrite_event(self, run: RunView, event: Event) -> Any:
        self._seen.append(event)
        if self._random.random() > self._strength:
            return event
        return self._random.choice(self._ways)(event)

    def _drop(self, event: Event) -> Any:
        return None

    def _twice(self, event: Event) -> Any:
        return [event, event]

    def _before(self, event: Event) -> Any:
        return [self._any(), event]

    def _after(self, event: Event) -> Any:
        return [event, self._any(), self._any()]

    def _hold(self, event: Event) -> Any:
        self._held.append(event)

    def _release(self, event: Event) -> Any:
        held, self._held = self._held, []
        return [*held, event] if self._random.random() < 0.5 else [event, *held]

    def _instead(self, event: Event) -> Any:
        return self._any()

    def _break(self, event: Event) -> Any:
        # What a provider wants back is sent as it is, so here anything would be too much.
        fields = [name for name in type(event).__struct_fields__ if name != "provider_data"]
        name = self._random.choice(fields)
        return msgspec.structs.replace(event, **{name: self._random.choice(VALUES)})

    def _break_added(self, event: Event) -> Any:
        return [event, self._break(self._any())]

    def _add(self, event: Event) -> Any:
        number = self._random.randrange(9)
        ways: list[list[Event]] = [
            text(number, "more", output=self._random.choice([0, 0, 1])),
            thought(number, "hm", signature="S"),
            called(number, self._random.choice(["new", "call_1"])),
            [ev.PartSealed(number, "encrypted", "E"), ev.CitationAdded(part=number, ref="u")],
            [ev.ToolProgress(call_id="new"), ev.ToolStarted("new"), ev.StepDiscarded(0, "x")],
        ]
        made = self._random.choice(ways)
        return [event, *made] if self._random.random() < 0.5 else [*made, event]

    def _raise(self, event: Event) -> Any:
        if self._fails:
            raise ValueError("a rewriter that fails")
        return event

    def _any(self) -> Event:
        return self._random.choice(self._seen)


def vandalised(seed: int) -> tuple[Run, str]:
    dialect = list(MODELS)[seed % len(MODELS)]
    script = SCRIPTS[seed // len(MODELS) % len(SCRIPTS)]()
    transport = ScriptedTransport(script, dialect=dialect)
    rewriters = [Vandal(seed + at) for at in range(1 + seed % 2)]
    agent = Agent(
        MODELS[dialect],
        transport=transport,
        api_key="k",
        tools=Bench().tools(),
        middleware=rewriters,
        limits=RunLimits(turn_attempts=2, retries_late=seed % 5 > 0),
    )

    async def main() -> Run:
        run = agent.run("Go.")
        # A rewriter that fails at the last record is told to the caller.
        with suppress(MiddlewareFailed):
            async with run:
                await run.wait()
        return run

    return run_virtual(main()), dialect


@pytest.mark.parametrize("first", range(0, 480, 40))
def test_whatever_rewriters_do_a_run_stays_legal(first: int) -> None:
    for seed in range(first, first + 40):
        run, dialect = vandalised(seed)
        try:
            check_run(run, dialect, is_rewritten=True)
        except Exception as broken:
            raise AssertionError(f"seed {seed}: {broken}") from broken
