"""Callbacks, plain and async, in order, and called to the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from headrace.errors import UsageError
from headrace.events import Record
from headrace.phases import Consumer, consume, consume_async
from headrace.phases.tracker import NOTICES
from tests.phases.records import Turn, records

TURN = records(Turn().output(0).reasoning("a").text("b").call("f", {"x": 1}).end_output().end())
ORDER = [
    "phase_change",
    "reasoning_start",
    "reasoning_delta",
    "phase_change",
    "phase_change",
    "content_start",
    "content_delta",
    "client_call",
    "phase_change",
    "reasoning_complete",
    "content_complete",
]


def listening(seen: list[str], *, is_async: bool = False) -> Consumer:
    def plain(name: str) -> Callable[..., Any]:
        return lambda *_: seen.append(name)

    def waiting(name: str) -> Callable[..., Any]:
        async def call(*_: Any) -> None:
            await asyncio.sleep(0)
            seen.append(name)

        return call

    make = waiting if is_async else plain
    return Consumer(**{f"on_{name}": make(name) for name in NOTICES})


async def arriving(source: list[Record]) -> AsyncIterator[Record]:
    for record in source:
        yield record


def test_callbacks_come_in_order() -> None:
    seen: list[str] = []
    consume(TURN, listening(seen))
    assert seen == ORDER


@pytest.mark.parametrize("is_async", [False, True])
def test_async_code_gets_the_same(is_async: bool) -> None:
    seen: list[str] = []
    asyncio.run(consume_async(arriving(TURN), listening(seen, is_async=is_async)))
    assert seen == ORDER


def test_every_callback_may_be_left_out() -> None:
    consume(TURN, Consumer())
    texts: list[str] = []
    consume(TURN, Consumer(on_reasoning_delta=lambda _, text: texts.append(text)))
    assert texts == ["a"]


def test_an_async_callback_needs_code_that_waits() -> None:
    async def told(*_: Any) -> None: ...

    with pytest.raises(UsageError, match="on_content_start is async: use consume_async"):
        consume(TURN, Consumer(on_content_start=told))


def test_completes_are_called_where_the_records_break_off() -> None:
    def breaking() -> Iterator[Record]:
        yield from TURN[:4]
        raise OSError("gone")

    seen: list[str] = []
    with pytest.raises(OSError, match="gone"):
        consume(breaking(), listening(seen))
    assert seen[-1] == "reasoning_complete"


def test_completes_are_called_when_the_task_is_cancelled() -> None:
    seen: list[str] = []

    async def stalling() -> AsyncIterator[Record]:
        for record in TURN[:4]:
            yield record
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(consume_async(stalling(), listening(seen, is_async=True)))
        while "reasoning_delta" not in seen:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen[-1] == "reasoning_complete"


def test_completes_are_called_also_under_a_scope_that_cancels_again_and_again() -> None:
    """A level-triggered scope, such as anyio's, cancels every wait until it is left."""
    seen: list[str] = []

    async def stalling() -> AsyncIterator[Record]:
        for record in TURN[:4]:
            yield record
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(consume_async(stalling(), listening(seen, is_async=True)))
        while "reasoning_delta" not in seen:
            await asyncio.sleep(0)
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)

    asyncio.run(main())
    assert seen[-1] == "reasoning_complete"


def test_a_callback_that_raises_is_the_error_and_the_last_call() -> None:
    seen: list[str] = []

    def broken(*_: Any) -> None:
        raise ValueError("mine")

    consumer = Consumer(
        on_reasoning_delta=broken, on_reasoning_complete=lambda _: seen.append("complete")
    )
    with pytest.raises(ValueError, match="mine"):
        consume(TURN, consumer)
    with pytest.raises(ValueError, match="mine"):
        asyncio.run(consume_async(arriving(TURN), consumer))
    assert seen == []
