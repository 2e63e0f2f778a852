"""Fills a SQLite file with conversations, and counts what operations on it cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import msgspec

from headrace.content import TextContent
from headrace.messages import Message
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.search_index import to_terms
from tests.growth.postgres_fill import MESSAGES, OWNER

_MESSAGE: Final = Message(role="user", content=(TextContent("How much water? " * 10),))


def fill(database: Database, first: int, last: int) -> None:
    """Add the conversations with these numbers, as one user has them."""
    for start in range(first, last + 1, 2_000):
        end = min(last, start + 1_999)
        database.write_now(partial(_insert, first=start, last=end))
    # With statistics, SQLite chooses other plans.
    database.write_now(lambda connection: connection.execute("ANALYZE"))


def _insert(connection: sqlite3.Connection, first: int, last: int) -> None:
    body = msgspec.json.encode(_MESSAGE)
    for number in range(first, last + 1):
        conversation = f"conv_{number}"
        title = _insert_terms(connection, "title_index", f"title name{number}", conversation)
        connection.execute(
            "INSERT INTO conversations (id, owner, title, created_ms, updated_ms, leaf_id,"
            " title_row) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (conversation, OWNER, f"Title {number}", number, number, f"msg_{number}_9", title),
        )
        for place in range(MESSAGES):
            text = f"water group{number % 100} word{number}"
            words = _insert_terms(connection, "word_index", text, conversation)
            parent = f"msg_{number}_{place - 1}" if place else None
            run = f"run_{number}_{place}" if place % 2 else None
            role = "assistant" if place % 2 else "user"
            connection.execute(
                "INSERT INTO messages (id, conversation_id, owner, parent_id, run_id, role,"
                " created_ms, body, words_row) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(f"msg_{number}_{place}", conversation, OWNER, parent, run, role),
                    *(number * 10 + place, body, words),
                ),
            )
            if run is not None:
                connection.execute(
                    "INSERT INTO runs (id, owner, conversation_id, parent_id, message_id, model,"
                    " state, created_ms, closed_ms, fingerprint, is_logged)"
                    " VALUES (?, ?, ?, ?, ?, 'test', 'closed', ?, ?, '', 0)",
                    (run, OWNER, conversation, parent, f"msg_{number}_{place}", number, number),
                )


def _insert_terms(
    connection: sqlite3.Connection, table: str, text: str, conversation: str
) -> int | None:
    return connection.execute(
        f"INSERT INTO {table} (terms, conversation_id) VALUES (?, ?)",
        (to_terms(OWNER, text), conversation),
    ).lastrowid


class CountedDatabase(Database):
    """A database that counts the steps of SQLite, ten at a time."""

    steps = 0

    def _connect(self, cache_kb: int) -> sqlite3.Connection:
        connection = super()._connect(cache_kb)
        connection.set_progress_handler(self._add, 10)
        return connection

    def _add(self) -> int:
        self.steps += 10
        return 0

    async def count(self, work: Callable[[], Awaitable[Any]]) -> tuple[int, Any]:
        """Return how many steps some work takes, and its result."""
        before = self.steps
        result = await work()
        return self.steps - before, result
