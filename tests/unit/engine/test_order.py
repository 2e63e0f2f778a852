"""The drawn order of a run: what runs make of it, and that nothing in it is untrue."""

from __future__ import annotations

import asyncio
from typing import Any, get_args
from xml.etree import ElementTree

import pytest

from docs.ending import CASES, Case, play
from docs.run_order import FIRST, LAST, MODEL_OUTPUT, ORDER, name_move, picture
from headrace import events as ev
from headrace.content import TextContent
from headrace.engine import Run, RunLimits, Terminate, ToolContext, Truncate, tool
from headrace.engine.middleware.middleware import Middleware, RunView
from headrace.events import Record
from headrace.messages import Message
from headrace.testing import call, cut, error, refuse, run_virtual, say, stall, turn

Moves = set[tuple[str, str]]


def walk(records: list[Record]) -> Moves:
    """Take every event through the table; a move that is not there is a KeyError."""
    state, moves = FIRST, Moves()
    for record in records:
        move = name_move(type(record.event))
        moves.add((state, move))
        state = ORDER[state][move]
    assert state == LAST
    return moves


# --- runs, which together take every move ---------------------------------------------


async def dig(context: ToolContext) -> str:
    """Dig, and tell how deep."""
    context.progress("a metre deep")
    return "water"


def flood() -> str:
    """Give back more than there is room for."""
    return "water " * 2_000


@tool(needs_approval=True)
def bury() -> str:
    """Bury it again."""
    return "gone"


async def deny(run: Run) -> None:
    """Deny what the run asks for, and say something."""
    while not run.requests:
        await asyncio.sleep(0.1)
    run.steer("Hurry.")
    run.answer(run.requests[0].request_id, "denied")
    await run.wait()


class Stop(Middleware):
    """Ends a run before its first step."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def on_run_start(self, run: RunView) -> None:
        raise self._error


class FailAtEnd(Middleware):
    """Raises when the run has ended."""

    def on_run_end(self, run: RunView, end: ev.RunFinished | ev.RunFailed) -> None:
        raise ValueError("no")


FULL = turn(refuse(400, category="context_overflow"))
OLD = [
    Message(role=role, content=(TextContent("x" * 400),))
    for role in ("user", "assistant", "user", "assistant")
]
LATE: dict[str, Any] = {"limits": RunLimits(retries_late=True)}
MORE = (
    Case("tools with progress", [turn(call("dig"), call("dig")), "Done."], {"tools": [dig]}),
    Case("a call that is whole, and a cut", [turn(call("dig"), say("so"), cut())]),
    Case("another attempt", [turn("So", cut()), "Done."], LATE),
    Case("another attempt that is refused", [turn("So", error()), turn(refuse(401))], LATE),
    Case("stopped at the start", [], {"middleware": [Stop(Terminate("closed"))]}),
    Case("broken at the start", [], {"middleware": [Stop(ValueError("no"))]}),
    Case("shortened first", ["Hi."], {"compactor": Truncate(max_messages=1), "history": OLD}),
    Case("shortened when refused", [FULL, "Hi."], {"compactor": Truncate(), "history": OLD}),
    Case(
        "shortened between steps",
        [turn(call("flood")), "Done."],
        {"compactor": Truncate(max_tokens=3_000), "history": OLD, "tools": [flood]},
    ),
    Case("a typed answer", [turn(say('{"value": 3}'))], {"output_type": int}),
    Case(
        "a typed answer, and an error at the end",
        [turn(say('{"value": 3}'))],
        {"output_type": int, "middleware": [FailAtEnd()]},
    ),
    Case(
        "a denied call, and a word of the user",
        [turn(call("bury")), "Done."],
        {"tools": [bury]},
        deny,
    ),
    Case("nothing at all", [turn(stall())], {"limits": RunLimits(run_timeout_s=1)}),
)


# A log that fails cuts the run where it stands; that is said, and not drawn.
DRAWN = [*(way for way in CASES if way.cause != "the `sink` raises"), *MORE]


@pytest.mark.parametrize("way", DRAWN, ids=lambda way: way.cause)
def test_runs_make_only_the_moves_that_are_drawn(way: Case) -> None:
    walk(run_virtual(play(way)).records_so_far)


def test_every_move_that_is_drawn_is_made_by_some_run() -> None:
    made = {move for way in DRAWN for move in walk(run_virtual(play(way)).records_so_far)}
    assert {(state, move) for state, moves in ORDER.items() for move in moves} == made


def test_an_illegal_move_is_not_drawn() -> None:
    started = Record(1, 0, ev.RunStarted("r"))
    with pytest.raises(KeyError, match="ToolStarted"):
        walk([started, Record(2, 0, ev.ToolStarted("c"))])


def test_every_event_of_a_run_is_in_the_table_and_in_the_picture() -> None:
    told = {move for moves in ORDER.values() for move in moves}
    anywhere = {"CancelRequested", "RunSuspended", "RunResumed"}
    kinds = {kind.__name__ for kind in get_args(ev.RunEvent)} - anywhere
    assert told == kinds | {"TurnStarted", "TurnFinished", "TurnFailed", MODEL_OUTPUT}
    texts = {text.text for text in ElementTree.fromstring(picture()).iter() if text.text}
    assert told <= texts
    assert {*ORDER, LAST} <= texts
