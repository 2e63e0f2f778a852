"""Callbacks, plain and async, in order, and called to the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest

from headrace.errors import UsageError
from headrace.events import Record
from headrace.phases import (
    Consumer,
    consume,
    consume_async,
    consume_reads,
    consume_reads_async,
)
from headrace.phases.tracker import NOTICES
from tests.phases.records import Turn, records
from tests.wire import chunk, sse

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


# --- raw chunks ----------------------------------------------------------------------------


CHUNKS = [
    chunk({"reasoning_content": "hm"}),
    chunk({"content": "yes"}),
    chunk({}, finish="stop"),
]


def watching(seen: list[str], *, is_async: bool = False) -> Consumer:
    async def chunk_came(data: bytes) -> None:
        seen.append(f"chunk {len(data)}")

    def came(data: bytes) -> None:
        seen.append(f"chunk {len(data)}")

    return Consumer(
        on_chunk=chunk_came if is_async else came,
        on_reasoning_delta=lambda _, text: seen.append(text),
        on_content_delta=lambda _, text: seen.append(text),
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_raw_chunks_come_before_what_they_cause(is_async: bool) -> None:
    reads = [sse(one, done=False) for one in CHUNKS]
    sizes = [f"chunk {len(msgspec.json.encode(one))}" for one in CHUNKS]
    seen: list[str] = []

    async def arriving_reads() -> AsyncIterator[bytes]:
        for read in reads:
            yield read

    if is_async:
        asyncio.run(consume_reads_async(arriving_reads(), watching(seen, is_async=True)))
    else:
        consume_reads(reads, watching(seen))
    assert seen == [sizes[0], "hm", sizes[1], "yes", sizes[2]]


def test_raw_chunks_are_exact_however_the_stream_is_cut() -> None:
    data = sse(*CHUNKS)
    for size in (1, 7, len(data)):
        chunks: list[bytes] = []
        reads = [data[at : at + size] for at in range(0, len(data), size)]
        consume_reads(reads, Consumer(on_chunk=chunks.append))
        assert chunks == [*map(msgspec.json.encode, CHUNKS), b"[DONE]"]


def test_an_async_chunk_callback_needs_code_that_waits() -> None:
    with pytest.raises(UsageError, match="on_chunk is async: use consume_reads_async"):
        consume_reads([sse(*CHUNKS)], watching([], is_async=True))
