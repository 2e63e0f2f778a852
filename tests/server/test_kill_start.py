"""A server that is killed while it starts: with a new folder, or while it migrates an older file.
A `headrace token create` that is killed beside a server."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.events import encode_record
from headrace.server.storage.migrations import MIGRATIONS
from tests.server.nursery import Nursery, nursery
from tests.server.stored_records import stored_records
from tests.server.test_kill import IS_SOAK, LIMITS, Client, check_tables, contents, rows

FIRST_STARTS = 25 if IS_SOAK else 3
MIGRATION_KILLS = 20 if IS_SOAK else 4
# About two of three commands are killed before they end.
TOKEN_KILLS = 66 if IS_SOAK else 4
OLD_VERSION = 3


@pytest.fixture(scope="module")
def born() -> Iterator[Nursery]:
    with nursery() as found:
        yield found


def test_a_first_start_that_is_killed_leaves_a_folder_that_can_be_used(
    born: Nursery, tmp_path: Path, record_property: Any
) -> None:
    chance = random.Random(3)
    died = 0
    for number in range(FIRST_STARTS):
        data = tmp_path / str(number)
        steps = [f"statement:{chance.randint(1, 60)}", f"milliseconds:{chance.randint(1, 60)}"]
        died += not born.serve(data, steps[number % 2]).url
        born.kill_all()
        client = Client()
        victim = born.serve(data)
        asyncio.run(client.ask(victim.url))
        client.check_end()
        victim.kill()
        assert rows(data, "PRAGMA integrity_check") == [("ok",)]
    assert died > 0
    record_property("summary", f"kill: {died} in the first start of a server")


def make_old(new: Path, old: Path) -> None:
    """Write the content of a database as version 3 would have written it."""
    with (
        closing(sqlite3.connect(new, isolation_level=None)) as source,
        closing(sqlite3.connect(old, isolation_level=None)) as target,
    ):
        target.execute("PRAGMA journal_mode = WAL")
        steps = ";".join(map(str, MIGRATIONS[:OLD_VERSION]))
        target.executescript(f"{steps}; PRAGMA user_version = {OLD_VERSION}")
        for table in ("conversations", "messages", "runs", "tokens"):
            _copy(source, target, table)
        for run_id, log in stored_records(source).items():
            for record in log:
                row = (run_id, record.seq, encode_record(record))
                target.execute("INSERT INTO records (run_id, seq, body) VALUES (?, ?, ?)", row)
        target.execute(
            "INSERT INTO titles (rowid, text, conversation_id, owner)"
            " SELECT title_row, title, id, owner FROM conversations"
        )
        target.execute(
            "INSERT INTO words (rowid, text, message_id, conversation_id, owner)"
            " SELECT words_row, 'a weir ' || id, id, conversation_id, owner FROM messages"
        )


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    """Copy the columns that both versions of a table have."""
    new, old = (
        [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        for connection in (source, target)
    )
    names = [name for name in old if name in new]
    places = ", ".join("?" * len(names))
    for row in source.execute(f"SELECT {', '.join(names)} FROM {table}"):
        target.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", row)


def test_a_migration_that_is_killed_is_made_up_for(
    born: Nursery, tmp_path: Path, record_property: Any
) -> None:
    clients = [Client() for _ in range(4)]
    victim = born.serve(tmp_path / "new")
    for client in clients:
        asyncio.run(client.ask(victim.url))
    victim.kill()
    old = tmp_path / "old"
    old.mkdir()
    make_old(tmp_path / "new" / "headrace.db", old / "headrace.db")
    shutil.copytree(old, tmp_path / "whole")
    victim = born.serve(tmp_path / "whole")
    for client in clients:
        asyncio.run(client.check(victim.url))
    victim.kill()
    expected = contents(tmp_path / "whole")
    chance = random.Random(5)
    died = 0
    for number in range(MIGRATION_KILLS):
        data = tmp_path / str(number)
        shutil.copytree(old, data)
        # Killed twice: the second start finds what the first one has left.
        for most in (160, 40):
            name = ("statement", "milliseconds")[number % 2]
            died += not born.serve(data, f"{name}:{chance.randint(1, most)}").url
            born.kill_all()
        victim = born.serve(data)
        for client in clients:
            asyncio.run(client.check(victim.url))
        victim.kill()
        check_tables(data)
        assert contents(data) == expected
        assert rows(data, "PRAGMA auto_vacuum") == [(2,)]
        assert rows(data, "PRAGMA user_version") == [(len(MIGRATIONS),)]
        assert not list(data.glob("*.new*"))
    assert died > MIGRATION_KILLS // 2
    record_property("summary", f"kill: {died} in the migration of an older file")


def test_a_command_that_is_killed_leaves_only_whole_tokens(
    born: Nursery, tmp_path: Path, record_property: Any
) -> None:
    """Beside a server that is answering. A token that was printed can be used."""
    data = tmp_path / "data"
    first = tmp_path / "first.txt"
    born.create_token(data, "anna", first).wait()
    victim = born.serve(data, **LIMITS)
    chance = random.Random(7)
    printed = [first.read_text().strip()]
    for number in range(TOKEN_KILLS):
        output = tmp_path / f"{number}.txt"
        steps = [f"statement:{chance.randint(1, 40)}", f"milliseconds:{chance.randint(1, 40)}"]
        born.create_token(data, f"user{number}", output, steps[number % 2])
        client = Client("ux", printed[0])
        asyncio.run(client.ask(victim.url))
        client.check_end()
        if output.exists() and output.read_text().endswith("\n"):
            printed.append(output.read_text().strip())
    for token in printed:
        headers = {"authorization": f"Bearer {token}"}
        answer = httpx.get(f"{victim.url}/api/conversations", headers=headers, timeout=60)
        assert answer.status_code == 200
    victim.kill()
    stored = rows(data, "SELECT count(DISTINCT hash) FROM tokens")[0][0]
    # One may have been stored although its command was killed before it was printed.
    assert len(printed) <= stored <= 1 + TOKEN_KILLS
    assert len(printed) <= TOKEN_KILLS, "no command was killed"
    assert rows(data, "PRAGMA integrity_check") == [("ok",)]
    killed = 1 + TOKEN_KILLS - len(printed)
    record_property("summary", f"kill: {killed} in {TOKEN_KILLS} commands that create a token")
