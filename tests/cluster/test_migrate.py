"""`headrace migrate`: a data folder becomes a database, with nothing missing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.main import main
from headrace.server.service import now_ms
from headrace.server.storage.access_tokens import AccessTokens
from headrace.server.storage.accounts import Accounts, SQLiteAccounts, hash_sign_in
from headrace.server.storage.postgres import schema
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.store import PostgresStore
from headrace.server.storage.search_terms import list_terms
from headrace.server.storage.sqlite.database import Database
from tests.cluster.test_any_server import paying, slow_agent
from tests.postgres import shared_server
from tests.server.serving import Served, frames, served


async def fill(data: Path) -> dict[str, list[Any]]:
    """Ask some questions of a server on a folder; return the streams by answer."""
    streams: dict[str, list[Any]] = {}
    async with served(slow_agent(), data) as site:
        event_id, conversation, _ = await site.ask("What is a \0 headrace? 天气怎么样")
        streams[event_id] = await read(site, event_id)
        event_id, _, _ = await site.ask("And then?", conversation_id=conversation)
        streams[event_id] = await read(site, event_id)
    async with served(paying(), data) as site:
        async with site.open("Pay.", protocol="ux") as response:
            waiting = response.headers["x-event-id"]
            seen = b""
            while b"message_waiting" not in seen:
                seen += await response.content.readany()
        for _ in range(200):
            if (await site.service.store.run("local", waiting)).is_suspended:
                break
            await asyncio.sleep(0.02)
        streams[waiting] = frames(seen)
    return streams


async def read(site: Served, event_id: str) -> list[Any]:
    async with site.resume(event_id, protocol="ux") as response:
        return frames(await response.read())


async def add_account(accounts: Accounts) -> None:
    await accounts.add("anna", "operator", "hash", 1)
    account = await accounts.find("anna")
    assert account is not None
    await accounts.add_sign_in(hash_sign_in("cookie"), account, "Firefox", now_ms())
    await accounts.change_settings("anna", {"theme": "dark"})


def test_a_folder_becomes_a_database_with_nothing_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, url = tmp_path / "data", shared_server().create_database()
    streams = asyncio.run(fill(data))
    database = Database(data / "headrace.db")
    access_token = AccessTokens(database).create("anna", "laptop", 1)
    asyncio.run(add_account(SQLiteAccounts(database)))
    database.close()
    assert main(["migrate", "--data", str(data), "--store", url]) == 0
    printed = capsys.readouterr()
    assert "2 conversations, 5 messages and 3 answers" in printed.out
    assert "log_chunks: " in printed.err
    *ended, waiting = streams

    async def check() -> None:
        async with served(paying(), tmp_path / "none", store=url) as site:
            for event_id in ended:
                assert await read(site, event_id) == streams[event_id]
            status, found = await site.get("/api/conversations", params={"q": "天气"})
            assert status == 200
            assert len(found["conversations"]) == 1
            user = await site.service.access_tokens.find_user(access_token, 5)
            assert user is not None
            assert user.owner == "anna"
            accounts = site.service.accounts
            assert await accounts.settings("anna") == {"theme": "dark"}
            sign_in = await accounts.find_sign_in(hash_sign_in("cookie"))
            assert sign_in is not None
            assert (sign_in.owner, sign_in.role) == ("anna", "operator")
            run = await site.service.store.run("local", waiting)
            _, body = await site.get(f"/api/runs/{run.id}/requests")
            (request,) = body["requests"]
            path = f"{site.url}/api/runs/{run.id}/requests/{request['request_id']}"
            async with site.http.post(path, json={"decision": "accepted"}) as answered:
                assert answered.status == 200
            whole = await read(site, waiting)
            assert whole[: len(streams[waiting])] == streams[waiting]
            assert "paid 5" in whole[-1][1]

    asyncio.run(check())
    # A second copy would mix two servers.
    assert main(["migrate", "--data", str(data), "--store", url]) == 1
    assert "has conversations already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--store", "mysql://x"], "begins with postgresql://"),
        (
            ["--store", "postgresql://u:hunter2@127.0.0.1:1/x"],
            "cannot use the database 127.0.0.1:1",
        ),
        ([], "give the database with --store"),
    ],
)
def test_what_cannot_be_copied_is_said_without_the_password(
    words: list[str],
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEADRACE_STORE", raising=False)
    Database(tmp_path / "headrace.db").close()
    assert main(["migrate", "--data", str(tmp_path), *words]) == 1
    printed = capsys.readouterr().err
    assert text in printed
    assert "hunter2" not in printed


def test_tokens_and_usage_are_read_from_the_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = shared_server().create_database()

    async def ask() -> None:
        async with served(slow_agent(), tmp_path, store=url) as site:
            await site.ask("Go.")

    asyncio.run(ask())
    assert main(["usage", "--store", url, "--by", "user"]) == 0
    assert "local" in capsys.readouterr().out
    assert main(["token", "create", "anna", "--store", url]) == 0
    assert capsys.readouterr().out.startswith("hr_")
    assert main(["token", "list", "--store", url]) == 0
    token_id = capsys.readouterr().out.split()[0]
    assert main(["token", "revoke", token_id, "--store", url]) == 0
    assert main(["token", "revoke", token_id, "--store", url]) == 1


def test_texts_of_an_older_database_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first version had the term of the owner beside the words."""

    async def main() -> None:
        pool = Pool(shared_server().create_database())
        await pool.open()
        monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        await schema.migrate(pool)
        await pool.execute(
            "INSERT INTO conversations (id, owner, created_ms, updated_ms, terms)"
            " VALUES ('conv', 'anna', 1, 1, array_to_tsvector($1::text[]))",
            list_terms("anna", "Old salmon"),
        )
        monkeypatch.undo()
        await schema.migrate(pool)
        store = PostgresStore(pool, "node")
        for words in ("salmon", "old sal"):
            found = await store.search("anna", words)
            assert [one.conversation.id for one in found] == ["conv"]
        assert await store.search("anna", "trout") == []
        assert await store.search("bert", "salmon") == []
        await pool.close()

    asyncio.run(main())
