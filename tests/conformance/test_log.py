"""What every log promises. A second implementation is one more row of `LOGS`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace import events as ev
from headrace.events import Record
from headrace.outcome import FinishReason
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log import Log, SQLiteLog
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import SQLiteStore
from headrace.usage import Usage
from tests.postgres import open_postgres, shared_server
from tests.server.memory_storage import MemoryLog
from tests.valkey import open_valkey, shared_valkey

Opened = Callable[[], Any]
"""A log on the same data, as often as it is called; as a context."""


def _sqlite(data: Path) -> Opened:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Log]:
        database = Database(data / "log.db")
        SQLiteStore(database)  # makes the tables
        try:
            yield SQLiteLog(database)
        finally:
            database.close()

    return opened


def _memory(data: Path) -> Opened:
    log = MemoryLog()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Log]:
        yield log

    return opened


def _postgres(data: Path) -> Opened:
    url = shared_server().create_database()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Log]:
        async with open_postgres(url) as (_, log):
            yield log

    return opened


def _valkey(data: Path) -> Opened:
    url = shared_server().create_database()
    log_url = shared_valkey().empty()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Log]:
        async with open_valkey(url, log_url) as storage:
            yield storage.log

    return opened


LOGS: dict[str, Callable[[Path], Opened]] = {
    "sqlite": _sqlite,
    "memory": _memory,
    "postgres": _postgres,
    "valkey": _valkey,
}


@pytest.fixture(params=LOGS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    return LOGS[request.param](tmp_path)


def records(first: int, last: int, text: str = "x") -> list[Record]:
    return [Record(seq, 1_000 + seq, ev.TextDelta(0, text)) for seq in range(first, last + 1)]


def play(opened: Opened, body: Callable[[Log], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened() as log:
            await body(log)

    asyncio.run(main())


def test_records_come_back_in_order_from_any_number(opened: Opened) -> None:
    async def body(log: Log) -> None:
        await log.append("run", records(1, 3))
        await log.append("run", records(4, 4))
        await log.append("run", records(5, 9))
        for after in range(11):
            assert await log.read("run", after) == records(after + 1, 9)

    play(opened, body)


def test_records_come_in_pages_of_at_least_one(opened: Opened) -> None:
    async def body(log: Log) -> None:
        await log.append("run", records(1, 9, text="x" * 500))
        for max_bytes in (1, 700, 2_000, 100_000):
            pages, last = [], 0
            while page := await log.read("run", last, max_bytes):
                pages.append(page)
                last = page[-1].seq
            assert [record for page in pages for record in page] == records(1, 9, "x" * 500)
            # Each is of some 560 bytes; the one that is too many is the last of its page.
            assert max(map(len, pages)) == min(9, max_bytes // 560 + 1)

    play(opened, body)


@pytest.mark.parametrize("wrong", [(1, 1), (3, 3), (3, 4), (5, 6), (9, 9)])
def test_what_leaves_a_gap_or_comes_twice_is_refused_whole(
    opened: Opened, wrong: tuple[int, int]
) -> None:
    async def body(log: Log) -> None:
        await log.append("run", records(1, 3))
        with pytest.raises(StorageFailed):
            await log.append("run", records(*wrong, text="wrong"))
        assert await log.read("run") == records(1, 3)
        await log.append("run", records(4, 5))
        assert await log.read("run") == records(1, 5)

    play(opened, body)


def test_a_log_begins_with_its_first_record(opened: Opened) -> None:
    async def body(log: Log) -> None:
        with pytest.raises(StorageFailed):
            await log.append("run", records(2, 3))
        assert await log.read("run") == []
        await log.append("run", [])
        assert await log.read("run") == []

    play(opened, body)


def test_runs_do_not_know_each_other(opened: Opened) -> None:
    async def body(log: Log) -> None:
        names = [f"run_{n}" for n in range(40)]

        async def one(name: str) -> None:
            for seq in range(1, 21):
                await log.append(name, records(seq, seq, name))

        await asyncio.gather(*(one(name) for name in names))
        for name in names:
            assert await log.read(name) == records(1, 20, name)
        assert await log.read("run_") == []

    play(opened, body)


def test_what_append_returned_for_is_there_when_the_log_is_opened_again(opened: Opened) -> None:
    async def write(log: Log) -> None:
        await log.append("run", records(1, 5))

    async def read(log: Log) -> None:
        assert await log.read("run") == records(1, 5)
        await log.append("run", records(6, 6))

    play(opened, write)
    play(opened, read)


EVENTS: Sequence[Any] = [
    ev.RunStarted("run", "test:model", "high"),
    ev.TextDelta(0, 'line\nline\r\n\0\u2028 “…” 🌊 \\ "'),
    ev.ToolCallFinished(part=1, call_id="c", name="f", args={"lc": 1, "n": 10**17}, raw="{}"),
    ev.UnknownEvent("of_tomorrow", b'{"type":"of_tomorrow","x":[1,null]}'),
    ev.RunFinished(FinishReason("end_turn"), Usage(input_tokens=1)),
    ev.RunClosed("committed", "msg"),
]


def test_every_kind_of_record_comes_back_as_it_was(opened: Opened) -> None:
    kept = [
        Record(seq, seq * 7, event, path=("call",) * (seq % 2), step=seq % 3)
        for seq, event in enumerate(EVENTS, 1)
    ]

    async def body(log: Log) -> None:
        await log.append("run", kept)
        assert await log.read("run") == kept

    play(opened, body)


def closed(seq: int) -> Record:
    return Record(seq, 1_000 + seq, ev.RunClosed("committed", "msg"))


def test_nothing_follows_the_end_of_a_run(opened: Opened) -> None:
    kept = [*records(1, 2), closed(3)]

    async def write(log: Log) -> None:
        with pytest.raises(StorageFailed):
            await log.append("run", [*records(1, 1), closed(2), *records(3, 3)])
        assert await log.read("run") == []
        await log.append("run", kept)
        await refuse(log)

    async def refuse(log: Log) -> None:
        for late in (records(4, 4), records(4, 6), [closed(4)]):
            with pytest.raises(StorageFailed):
                await log.append("run", late)
            ((_, failure),) = await put(log, [late])
            assert isinstance(failure, StorageFailed)
        await log.append("run", [])
        assert await log.read("run") == kept

    play(opened, write)
    play(opened, refuse)


def test_a_run_is_forgotten_alone(opened: Opened) -> None:
    async def body(log: Log) -> None:
        for name in ("a", "b", "c"):
            await log.append(name, records(1, 3, name))
        await log.delete(["a", "c", "never"])
        await log.delete([])
        assert await log.read("a") == await log.read("c") == []
        assert await log.read("b") == records(1, 3, "b")

    play(opened, body)


# --- the tail: for the one that writes ------------------------------------------------


async def put(log: Log, batches: Sequence[list[Record]], name: str = "run") -> list[Any]:
    """What the log said to each batch, in the order in which it spoke."""
    tail = log.tail(name)
    told: list[tuple[int, Exception | None]] = []
    whole = asyncio.Event()

    def done(number: int) -> Callable[[Exception | None], None]:
        def settled(failure: Exception | None) -> None:
            told.append((number, failure))
            if len(told) == len(batches):
                whole.set()

        return settled

    for number, batch in enumerate(batches):
        tail.put(batch, done(number))
        await asyncio.sleep(0)
    await asyncio.wait_for(whole.wait(), 20)
    return told


def test_what_is_put_is_told_in_order_and_is_there_when_it_is_told(opened: Opened) -> None:
    async def body(log: Log) -> None:
        told = await put(log, [records(n, n) for n in range(1, 200)])
        assert told == [(number, None) for number in range(199)]
        assert await log.read("run") == records(1, 199)
        assert await put(log, [records(200, 202)]) == [(0, None)]

    play(opened, body)


def test_after_records_that_could_not_be_kept_none_is(opened: Opened) -> None:
    async def body(log: Log) -> None:
        told = await put(log, [records(1, 2), records(4, 4), records(5, 6), records(7, 7)])
        assert [failure is None for _, failure in told] == [True, False, False, False]
        assert all(isinstance(failure, StorageFailed) for _, failure in told[1:])
        assert await log.read("run") == records(1, 2)

    play(opened, body)


def test_a_tail_that_fails_holds_up_no_other(opened: Opened) -> None:
    async def body(log: Log) -> None:
        wrong, right = await asyncio.gather(
            put(log, [records(2, 2)] * 9, "wrong"),
            put(log, [records(n, n) for n in range(1, 10)], "right"),
        )
        assert all(failure is not None for _, failure in wrong)
        assert all(failure is None for _, failure in right)
        assert await log.read("right") == records(1, 9)
        assert await log.read("wrong") == []

    play(opened, body)


def test_what_is_put_behind_the_end_of_a_run_is_refused_alone(opened: Opened) -> None:
    async def body(log: Log) -> None:
        late = [[*records(1, 1), closed(2)], records(3, 3), [closed(3)], records(4, 4)]
        within = [[closed(1), *records(2, 2)], records(1, 1)]
        told, other, mixed = await asyncio.gather(
            put(log, late, "late"), put(log, [records(1, 9)], "right"), put(log, within, "within")
        )
        assert [failure is None for _, failure in told] == [True, False, False, False]
        assert other == [(0, None)]
        assert isinstance(mixed[0][1], StorageFailed)
        assert await log.read("late") == [*records(1, 1), closed(2)]
        assert await log.read("right") == records(1, 9)

    play(opened, body)
