"""Copies everything that a data folder has into a PostgreSQL database, and checks the copy."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from headrace.errors import UsageError
from headrace.messages import Message
from headrace.server.storage.postgres.pool import Connection, Pool, to_text
from headrace.server.storage.postgres.tables.rows import to_lexemes
from headrace.server.storage.store.row import decode_message

_GROUP: Final = 500
Row = tuple[Any, ...]


class Table(NamedTuple):
    """How the rows of a table are read there and written here."""

    name: str
    columns: tuple[str, ...]
    query: str
    """Reads these columns in SQLite."""
    insert: str
    """Placeholders, where they are not just the values."""
    convert: Callable[[Row], Row] = lambda row: row


def _to_message(row: Row) -> Row:
    owner, body = row[2], bytes(row[7])
    message: Message = decode_message(body)
    return (*row[:7], body, to_lexemes(owner, message.text))


def _to_conversation(row: Row) -> Row:
    title = to_text(row[2])
    instructions = None if row[10] is None else to_text(row[10])
    marks = (bool(row[8]), bool(row[9]), instructions, *row[11:])
    return (*row[:2], title, bool(row[3]), *row[4:8], *marks, to_lexemes(row[1], title))


def _numbered(columns: tuple[str, ...], last: str | None = None) -> str:
    marks = [f"${place}" for place in range(1, len(columns) + 1)]
    if last is not None:
        marks[-1] = last.format(marks[-1])
    return ", ".join(marks)


def _table(
    name: str,
    columns: str,
    *,
    source: str | None = None,
    extra: str | None = None,
    last: str | None = None,
    convert: Callable[[Row], Row] = lambda row: row,
) -> Table:
    names = tuple(columns.split())
    query = source or f"SELECT {', '.join(names)} FROM {name}"
    written = names if extra is None else (*names, extra)
    return Table(name, written, query, _numbered(written, last), convert)


TABLES: Final = (
    _table(
        "conversations",
        "id owner title is_titled created_ms updated_ms leaf_id deleted_ms is_pinned is_unread"
        " instructions context_tokens total_tokens cost",
        extra="terms",
        last="array_to_tsvector({}::text[])",
        convert=_to_conversation,
    ),
    _table(
        "messages",
        "id conversation_id owner parent_id run_id role created_ms body",
        source="SELECT id, conversation_id, owner, parent_id, run_id, role, created_ms, body"
        " FROM messages ORDER BY created_ms, rowid",
        extra="terms",
        last="array_to_tsvector({}::text[])",
        convert=_to_message,
    ),
    _table(
        "runs",
        "id owner conversation_id parent_id message_id model state epoch log_version created_ms"
        " closed_ms suspended_ms expires_ms idempotency_key fingerprint request is_logged",
        convert=lambda row: (*row[:-1], bool(row[-1])),
    ),
    _table(
        "inbox",
        "id run_id kind request_id body created_ms is_taken",
        source="SELECT id, run_id, kind, request_id, body, created_ms, is_taken FROM inbox"
        " ORDER BY rowid",
        convert=lambda row: (*row[:4], _to_bytes(row[4]), row[5], bool(row[6])),
    ),
    _table("tokens", "hash owner name created_ms scope expires_ms last_used_ms quota"),
    _table(
        "users",
        "name role password_hash is_disabled created_ms",
        convert=lambda row: (*row[:3], bool(row[3]), row[4]),
    ),
    _table("sign_ins", "hash owner created_ms last_used_ms client"),
    _table("user_settings", "owner body"),
    _table("user_deletions", "owner requested_ms"),
    _table(
        "usage_rows",
        "owner door name model started_ms ended_ms outcome input_tokens cached_tokens output_tokens"
        " reasoning_tokens cost is_estimated",
        convert=lambda row: (*row[:-1], bool(row[-1])),
    ),
    _table(
        "usage_windows",
        "owner period requests tokens cost",
        source="SELECT owner, window, requests, tokens, cost FROM usage_windows",
    ),
    _table("server_keys", "name value"),
    _table("stored_bytes", "owner bytes"),
    _table(
        "log_heads",
        "run_id last_seq epoch is_closed",
        source="SELECT id, coalesce((SELECT max(last_seq) FROM record_chunks WHERE run_id ="
        " runs.id), 0), epoch, coalesce((SELECT max(is_closing) FROM record_chunks WHERE run_id ="
        " runs.id), 0) FROM runs",
        convert=lambda row: (*row[:3], bool(row[3])),
    ),
    _table(
        "log_chunks",
        "run_id first_seq last_seq body",
        source="SELECT run_id, first_seq, last_seq, body FROM record_chunks WHERE run_id IN"
        " (SELECT id FROM runs)",
        convert=lambda row: (*row[:3], _to_bytes(row[3])),
    ),
)
"""All tables, in an order in which every reference exists already."""
_CHECKED: Final = {
    "messages": ("id", "body"),
    "log_chunks": ("run_id", "first_seq", "body"),
    "runs": ("id", "state", "epoch"),
    "conversations": ("id", "owner", "leaf_id"),
    "inbox": ("id", "body", "is_taken"),
    "tokens": ("hash", "owner"),
}


async def copy_database(
    source: sqlite3.Connection, pool: Pool, on_progress: Callable[[str, int], None]
) -> dict[str, int]:
    """Copy all tables in one transaction, and compare what was written with what was read.

    Calls `on_progress` with the name of a table and its rows. Raises `UsageError`, and changes
    nothing, if the database is not empty or the copy differs. Returns the rows of each table.
    """
    counts: dict[str, int] = {}
    async with pool.transaction() as connection:
        if await connection.fetchval("SELECT 1 FROM conversations LIMIT 1"):
            raise UsageError("the database has conversations already: copy into an empty one")
        for table in TABLES:
            counts[table.name] = await _copy(source, connection, table)
            on_progress(table.name, counts[table.name])
        for table in TABLES:
            await _check(source, connection, table, counts[table.name])
    return counts


async def _copy(source: sqlite3.Connection, connection: Connection, table: Table) -> int:
    statement = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({table.insert})"
    count = 0
    for group in _in_groups(map(table.convert, source.execute(table.query))):
        await connection.executemany(statement, group)
        count += len(group)
    return count


async def _check(
    source: sqlite3.Connection, connection: Connection, table: Table, count: int
) -> None:
    written = await connection.fetchval(f"SELECT count(*) FROM {table.name}")
    names = _CHECKED.get(table.name)
    is_same = written == count
    if is_same and names is not None:
        places = [table.columns.index(name) for name in names]
        there = _digest(
            tuple(row[place] for place in places)
            for row in map(table.convert, source.execute(table.query))
        )
        here = await _digest_async(
            connection.cursor(f"SELECT {', '.join(names)} FROM {table.name}")
        )
        is_same = there == here
    if not is_same:
        raise UsageError(f"the copy of {table.name} differs: nothing was changed")


def _digest(rows: Iterable[Row]) -> int:
    """Return a sum of hashes of rows, which does not depend on their order."""
    total = 0
    for row in rows:
        total += int.from_bytes(hashlib.sha256(repr(row).encode()).digest()[:16], "big")
    return total % (1 << 128)


async def _digest_async(rows: AsyncIterator[Any]) -> int:
    total = 0
    async for row in rows:
        total += _digest([tuple(row)])
    return total % (1 << 128)


def _in_groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    for row in rows:
        group.append(row)
        if len(group) == _GROUP:
            yield group
            group = []
    if group:
        yield group


def _to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
