"""The stored records of a data folder, one by one, whichever tables they are in."""

from __future__ import annotations

import sqlite3

from headrace.events import Record, decode_record
from headrace.server.storage.sqlite.record_table import read_all, read_batches


def stored_records(connection: sqlite3.Connection) -> dict[str, list[Record]]:
    """The records of every run, in order."""
    rows = connection.execute("SELECT DISTINCT run_id FROM record_chunks").fetchall()
    ids = sorted({*(row[0] for row in rows), *read_batches(connection)})
    return {
        run_id: [decode_record(body) for body in read_all(connection, run_id)] for run_id in ids
    }


def cut_records(connection: sqlite3.Connection, run_id: str, last_seq: int) -> None:
    """Leave only the records up to a number, as a power cut would."""
    bodies = read_all(connection, run_id)[:last_seq]
    connection.execute("DELETE FROM record_chunks WHERE run_id = ?", (run_id,))
    connection.execute(
        "INSERT INTO record_chunks (run_id, first_seq, last_seq, is_closing, body)"
        " VALUES (?, 1, ?, 0, ?)",
        (run_id, last_seq, b"\n".join(bodies)),
    )
