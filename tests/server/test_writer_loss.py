"""A writer that loses its connection: every write gets an answer, and the next ones work."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.sqlite.database import Database


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "COMMIT", "INSERT INTO t VALUES (7)"])
@pytest.mark.parametrize("can_reconnect", [True, False])
def test_no_write_hangs_when_memory_runs_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, can_reconnect: bool
) -> None:
    connect = sqlite3.connect
    failing: set[str] = set()

    class Scarce(sqlite3.Connection):
        """Has no memory for some statements, a rollback included."""

        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            if sql in failing:
                raise MemoryError
            return super().execute(sql, *args)

    def connect_scarce(*args: Any, **more: Any) -> sqlite3.Connection:
        if failing and not can_reconnect:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(*args, **{**more, "factory": Scarce})

    monkeypatch.setattr(sqlite3, "connect", connect_scarce)
    with closing(Database(tmp_path / "x.db")) as database:
        database.write_now(lambda c: c.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)"))
        failing |= {statement, "ROLLBACK"}
        for _ in range(3):
            future = database.submit(lambda c: c.execute("INSERT INTO t VALUES (7)"))
            with pytest.raises((StorageFailed, MemoryError)):
                future.result(20)
        failing.clear()
        database.submit(lambda c: c.execute("INSERT INTO t VALUES (7)")).result(20)
        rows = database.write_now(lambda c: c.execute("SELECT a FROM t").fetchall())
    assert [row[0] for row in rows] == [7]
