"""What searches cost among many messages, and what a list of conversations waits beside them."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import SQLiteStore
from headrace.server.storage.store import row as tables

_MESSAGES = 50_000
_SEARCHES = ("a", "e", "ab cd", "a b c d e f g h i j k l m n o p", "waterfall")


@dataclass
class SearchCosts:
    """The figures."""

    messages: int
    cpu_ms: float
    """CPU time of the most expensive search."""
    list_ms: float
    """Time of a list of conversations alone."""
    beside_ms: float
    """Time of a list of conversations beside eight searches."""


def searches(tell: Callable[[str], None], *, is_quick: bool = False) -> SearchCosts:
    """Measure the CPU time of searches, and a list beside eight of them."""
    count = _MESSAGES // (10 if is_quick else 1)
    tell(f"search: storing {count:,} messages")
    with tempfile.TemporaryDirectory() as folder, closing(Database(Path(folder) / "x.db")) as base:
        store = SQLiteStore(base)
        base.write_now(lambda connection: _fill(connection, count))
        cpu_s, alone_s, beside_s = asyncio.run(_run(store))
        return SearchCosts(count, cpu_s * 1000, alone_s * 1000, beside_s * 1000)


async def _run(store: SQLiteStore) -> tuple[float, float, float]:
    costs: list[float] = []
    for words in _SEARCHES:
        start_s = time.process_time()
        await store.search("anna", words)
        costs.append(time.process_time() - start_s)
    alone_s = await _list(store)
    busy = [asyncio.create_task(store.search("anna", "a b c d")) for _ in range(8)]
    await asyncio.sleep(0.001)
    beside_s = await _list(store)
    await asyncio.gather(*busy)
    return max(costs), alone_s, beside_s


async def _list(store: SQLiteStore) -> float:
    start_s = time.perf_counter()
    await store.conversations("anna", 100)
    return time.perf_counter() - start_s


def _fill(connection: sqlite3.Connection, count: int) -> None:
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 10))) for _ in range(20_000)]
    for number in range(count):
        text, name = " ".join(chance.choices(words, k=120)), f"conv_{number // 10}"
        if number % 10 == 0:
            row = tables.index_title(connection, name, "anna", text[:60])
            connection.execute(
                "INSERT INTO conversations (id, owner, created_ms, updated_ms, title_row)"
                " VALUES (?, 'anna', ?, ?, ?)",
                (name, number, number, row),
            )
        tables.index_words(connection, name, "anna", text)


if __name__ == "__main__":
    print(searches(print))
