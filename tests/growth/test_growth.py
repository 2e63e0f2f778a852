"""List, open, search and delete do not get slower with what is stored: the blocks that PostgreSQL
reads and the steps that SQLite takes are counted, with few conversations and with many."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.schema import migrate
from headrace.server.storage.postgres.store import PostgresStore
from headrace.server.storage.sqlite.search_index import find_conversations, to_query
from headrace.server.storage.store import SQLiteStore, Store
from headrace.server.storage.store.store import PageCursor
from tests.growth import postgres_fill, sqlite_fill
from tests.growth.postgres_fill import OWNER
from tests.growth.sqlite_fill import CountedDatabase
from tests.postgres import PostgresServer

MANY = int(os.environ.get("HEADRACE_SOAK_CONVERSATIONS", "4000"))
"""Conversations of ten messages in PostgreSQL; a fifth of them in SQLite."""
_FEW = 400
_SEARCHES = ("search rare", "search title", "search common", "search prefix", "search nothing")


def operations(store: Store, count: int) -> dict[str, Callable[[], Awaitable[Any]]]:
    """What users do, with the conversation in the middle."""
    middle = count // 2
    return {
        "list": lambda: store.conversations(OWNER, 50),
        "list on": lambda: store.conversations(OWNER, 50, PageCursor(middle, "")),
        "open": lambda: store.conversation(OWNER, f"conv_{middle}"),
        "messages": lambda: store.messages(OWNER, f"conv_{middle}"),
        "branch": lambda: store.branch(OWNER, f"msg_{middle}_9"),
        "search rare": lambda: store.search(OWNER, f"word{middle}"),
        "search title": lambda: store.search(OWNER, f"name{middle}"),
        "search common": lambda: store.search(OWNER, "water"),
        "search prefix": lambda: store.search(OWNER, "wa"),
        "search nothing": lambda: store.search(OWNER, "absent"),
        "live runs": store.live_runs,
        "inboxes": store.runs_with_entries,
        "old logs": lambda: store.closed_runs(10),
        "delete": lambda: store.delete(OWNER, f"conv_{middle}"),
    }


def check(few: dict[str, int], many: dict[str, int], unit: str) -> None:
    """Print the figures, and compare them."""
    for name, cost in many.items():
        print(f"{name:15} {few[name]:8,} {cost:8,} {unit}")
    # A tree of an index becomes a level or two higher, and an index of words has more parts.
    grown = {name: cost for name, cost in many.items() if cost > 3 * few[name] + 30}
    assert not grown, f"{grown} {unit}, and before {few}"


@pytest.mark.timeout(3600)
def test_operations_in_postgresql_do_not_grow() -> None:
    server = PostgresServer()

    async def main() -> None:
        # One connection: it knows what it has read.
        pool = Pool(server.create_database(), max_connections=1)
        await pool.open()
        await migrate(pool)
        store = PostgresStore(pool, "node")
        costs: list[dict[str, int]] = []
        for first, last in ((1, _FEW), (_FEW + 1, MANY)):
            await postgres_fill.fill(pool, first, last)
            costs.append({})
            for name, work in operations(store, last).items():
                costs[-1][name], found = await postgres_fill.count_blocks(pool, work)
                assert found or name in ("search nothing", "live runs", "inboxes", "old logs"), name
        await pool.close()
        check(costs[0], costs[1], "blocks")

    try:
        asyncio.run(main())
    finally:
        server.remove()


@pytest.mark.timeout(3600)
def test_operations_in_sqlite_do_not_grow(tmp_path: Path) -> None:
    async def main(database: CountedDatabase) -> None:
        store = SQLiteStore(database)
        costs: list[dict[str, int]] = []
        for first, last in ((1, _FEW), (_FEW + 1, max(MANY // 5, 5 * _FEW))):
            sqlite_fill.fill(database, first, last)
            costs.append({})
            works = operations(store, last)
            for name in _SEARCHES:
                # A search has a time limit, which is a counter of steps too.
                works[name] = partial(database.read, _to_search(name, last))
            for name, work in works.items():
                costs[-1][name], found = await database.count(work)
                assert found or name in ("search nothing", "live runs", "inboxes", "old logs"), name
        check(costs[0], costs[1], "steps")

    with closing(CountedDatabase(tmp_path / "growth.db")) as database:
        asyncio.run(main(database))


def _to_search(name: str, count: int) -> Callable[[Any], Any]:
    words = {
        "search rare": f"word{count // 2}",
        "search title": f"name{count // 2}",
        "search common": "water",
        "search prefix": "wa",
        "search nothing": "absent",
    }[name]
    query = to_query(OWNER, words)
    assert query is not None
    return lambda connection: find_conversations(connection, OWNER, query, 50)
