"""Middleware that skips repeated deltas gets one of each kind and millisecond, and all else."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from headrace.engine import Middleware, RunView
from headrace.events import DELTA_TYPES, Record
from headrace.rehearsal.script import say, think, turn
from tests.otel.test_context import agent_on

WORDS = " ".join(["word"] * 200)


class Watch(Middleware):
    is_passive = True

    def __init__(self, *, skips: bool) -> None:
        self.skips_repeated_deltas = skips
        self.seen: list[Record] = []

    def on_event(self, run: RunView, record: Record) -> None:
        self.seen.append(record)


class Raw(Watch):
    """Gets every record, because it is not passive."""

    is_passive = False


def run_with(*middleware: Middleware) -> list[Record]:
    agent, _ = agent_on([turn(think(WORDS), say(WORDS))], middleware=list(middleware))

    async def main() -> list[Record]:
        async with agent.run("Go.") as run:
            await run.wait()
            return list(run.records_so_far)

    return asyncio.run(main())


def place(record: Record) -> tuple[Any, int]:
    return type(record.event), record.at_ms


def test_only_deltas_like_the_one_before_are_skipped() -> None:
    watch = Watch(skips=True)
    records = run_with(watch)
    first, *_ = records
    needed = [first] + [
        record
        for before, record in pairwise(records)
        if type(record.event) not in DELTA_TYPES or place(before) != place(record)
    ]
    seen = {record.seq for record in watch.seen}
    assert {record.seq for record in needed} <= seen
    assert len(watch.seen) < len(records) / 2


@pytest.mark.parametrize(
    "others",
    [
        pytest.param((Watch(skips=False),), id="does not skip"),
        pytest.param((Watch(skips=True), Watch(skips=False)), id="another does not skip"),
        pytest.param((Watch(skips=True), Raw(skips=True)), id="another is not passive"),
    ],
)
def test_middleware_gets_every_record_if_not_all_of_it_skips(others: tuple[Watch, ...]) -> None:
    records = run_with(*others)
    assert [record.seq for record in others[0].seen] == [record.seq for record in records]
