"""The two tables of the log, `record_chunks` and `record_batches`.

A chunk has consecutive records of one run, as lines of JSON. A batch has the newest records of many
runs, in order of arrival, and is read only after a crash: its records move to chunks when a run has
enough of them. So a commit writes about one page, however many runs it is for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from headrace.events import RunClosed, decode_record

Row: TypeAlias = tuple[str, int, bytes]
"""Run id, number and encoded record."""
CLOSED: Final = -1
"""Stands for the number of the last record if that record closes the run."""
CHUNK_BYTES: Final = 4_096
"""Size at which the records of a run become a chunk."""

_encode_batch = msgspec.msgpack.Encoder().encode
decode_batch = msgspec.msgpack.Decoder(list[Row]).decode


def insert_batch(connection: sqlite3.Connection, batch_id: int, rows: Sequence[Row]) -> None:
    """Store records of any runs as one row."""
    connection.execute("INSERT INTO record_batches VALUES (?, ?)", (batch_id, _encode_batch(rows)))


def insert_chunks(
    connection: sqlite3.Connection,
    run_id: str,
    first_seq: int,
    bodies: Sequence[bytes],
    *,
    is_closing: bool = False,
) -> None:
    """Store consecutive records of one run, as several rows if they are large.

    `is_closing` says that the last one closes the run.
    """
    start = size = 0
    for end, body in enumerate(bodies, 1):
        size += len(body)
        if size >= CHUNK_BYTES or end == len(bodies):
            chunk = b"\n".join(bodies[start:end])
            is_end = is_closing and end == len(bodies)
            connection.execute(
                "INSERT INTO record_chunks (run_id, first_seq, last_seq, is_closing, body)"
                " VALUES (?, ?, ?, ?, ?)",
                (run_id, first_seq + start, first_seq + end - 1, is_end, chunk),
            )
            start, size = end, 0


def closes_run(body: bytes) -> bool:
    """Return whether an encoded record closes its run."""
    try:
        return isinstance(decode_record(body).event, RunClosed)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def find_last_seq(connection: sqlite3.Connection, run_id: str) -> int:
    """Return the number of a run's last record in a chunk: 0 if none, `CLOSED` at the end."""
    row = connection.execute(
        "SELECT last_seq, is_closing FROM record_chunks WHERE run_id = ?"
        " ORDER BY first_seq DESC LIMIT 1",
        (run_id,),
    ).fetchone()
    if row is None:
        return 0
    return CLOSED if row[1] else int(row[0])


def read_chunks(
    connection: sqlite3.Connection, run_id: str, after: int = 0, max_bytes: int | None = None
) -> list[bytes]:
    """Return the encoded records with a number above `after`, in order.

    With `max_bytes`, the list ends with the record that reaches that size.
    """
    rows = connection.execute(
        "SELECT first_seq, body FROM record_chunks WHERE run_id = ? AND last_seq > ?"
        " AND first_seq >= coalesce((SELECT max(first_seq) FROM record_chunks"
        " WHERE run_id = ? AND first_seq <= ?), 0) ORDER BY first_seq",
        (run_id, after, run_id, after + 1),
    )
    bodies: list[bytes] = []
    size = 0
    for first_seq, body in rows:
        lines = body.split(b"\n")[max(0, after + 1 - first_seq) :]
        size += len(body)
        bodies += lines
        if max_bytes is not None and size >= max_bytes:
            break
    rows.close()
    return bodies if max_bytes is None else cut(bodies, max_bytes)


def cut(bodies: list[bytes], max_bytes: int) -> list[bytes]:
    """Return the first records, up to the one that reaches `max_bytes`."""
    size = 0
    for count, body in enumerate(bodies, 1):
        size += len(body)
        if size >= max_bytes:
            return bodies[:count]
    return bodies


def read_batches(connection: sqlite3.Connection) -> dict[str, list[Row]]:
    """Return the records of all batches, by run and in order."""
    runs: dict[str, list[Row]] = {}
    for (body,) in connection.execute("SELECT body FROM record_batches ORDER BY id"):
        for row in decode_batch(body):
            runs.setdefault(row[0], []).append(row)
    return runs


def read_all(connection: sqlite3.Connection, run_id: str) -> list[bytes]:
    """Return all encoded records of a run, also those that are only in batches."""
    connection.execute("BEGIN")
    try:
        bodies = read_chunks(connection, run_id)
        rows = read_batches(connection).get(run_id, [])
    finally:
        connection.execute("ROLLBACK")
    return bodies + select_missing(rows, len(bodies))


def select_missing(rows: Iterable[Row], last_seq: int) -> list[bytes]:
    """Return the records of batches that continue a run's chunks, which end with `last_seq`."""
    missing: list[bytes] = []
    for _, seq, body in rows:
        if seq == last_seq + 1 + len(missing):
            missing.append(body)
    return missing


def delete_chunks(connection: sqlite3.Connection, run_ids: Iterable[str]) -> None:
    """Delete all chunks of these runs."""
    rows = [(run_id,) for run_id in run_ids]
    connection.executemany("DELETE FROM record_chunks WHERE run_id = ?", rows)


def create_record_tables(connection: sqlite3.Connection) -> None:
    """Create the tables, and move the records of the earlier table `records` into chunks."""
    for statement in _TABLES:
        connection.execute(statement)
    bodies: list[bytes] = []
    size, run_id, first_seq = 0, "", 0
    query = "SELECT run_id, seq, body FROM records ORDER BY run_id, seq"
    for row in connection.execute(query):
        body = row[2] if isinstance(row[2], bytes) else str(row[2]).encode()
        if row[0] != run_id or size >= CHUNK_BYTES:
            _insert_old(connection, run_id, first_seq, bodies)
            bodies, size, run_id, first_seq = [], 0, row[0], row[1]
        bodies.append(body)
        size += len(body)
    _insert_old(connection, run_id, first_seq, bodies)
    connection.execute("DROP TABLE records")


def _insert_old(
    connection: sqlite3.Connection, run_id: str, first_seq: int, bodies: list[bytes]
) -> None:
    if bodies:
        is_closing = closes_run(bodies[-1])
        insert_chunks(connection, run_id, first_seq, bodies, is_closing=is_closing)


_TABLES: Final = (
    "CREATE TABLE record_batches (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE record_chunks (id INTEGER PRIMARY KEY, run_id TEXT NOT NULL,"
    " first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, is_closing INTEGER NOT NULL,"
    " body BLOB NOT NULL)",
    "CREATE UNIQUE INDEX chunks_of ON record_chunks (run_id, first_seq)",
)
