"""Search: bounded in words, time and threads, and the same for text with and without spaces."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.content import TextContent
from headrace.messages import Message
from headrace.server.storage.errors import SearchFailed
from headrace.server.storage.search_terms import MAX_WORDS, TooManyWords
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.search_index import to_query, to_terms
from headrace.server.storage.store import RunStart, SQLiteStore, StoredMessage
from tests.server.users import User, tokened


def start(name: str, text: str, owner: str = "anna") -> RunStart:
    message = Message(role="user", content=(TextContent(text),), created_at_ms=1)
    conversation_id = f"conv_{name}"
    return RunStart(
        owner=owner, run_id=f"run_{name}", message_id=f"msg_{name}", model="test", now_ms=1,
        fingerprint=name, conversation_id=conversation_id, is_new=True,
        prompt=StoredMessage(
            id=f"ask_{name}", conversation_id=conversation_id, parent_id=None, message=message
        ),
    )  # fmt: skip


async def found(store: SQLiteStore, words: str, owner: str = "anna") -> list[str]:
    return [one.conversation.id for one in await store.search(owner, words)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("今天天气很好，我们去公园吧。", ["今天", "天气", "气", "吧", "天气很好", "去公园 今天"]),
        ("明日は東京タワーに行きます", ["東京", "タワー", "行きます", "に", "す", "京タ"]),
        ("Das Straßenfest in Zürich", ["strassenfest", "ZURICH", "Zürich", "stra"]),
        ("version 3.11 of foo_bar", ["3.11", "foo", "bar", "foo_bar", "vers"]),
        ("Qué tal 北京 today", ["que", "北京", "京", "北京 today"]),
    ],
)  # fmt: skip
def test_any_part_of_a_text_is_found(tmp_path: Path, text: str, words: list[str]) -> None:
    async def main(store: SQLiteStore) -> None:
        await store.begin(start("a", text))
        await store.begin(start("b", "Something else entirely, 完全"))
        await store.begin(start("c", text, "bert"))
        for word in words:
            assert await found(store, word) == ["conv_a"], word
        assert await found(store, "气天 zzz") == []

    with closing(Database(tmp_path / "x.db")) as database:
        asyncio.run(main(SQLiteStore(database)))


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_words_are_a_valid_query(text: str, words: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE w USING fts5 (terms, detail = none, prefix = '1 2',"
            " tokenize = 'ascii')"
        )
        connection.execute("INSERT INTO w VALUES (?)", (to_terms("anna", text),))
        for query in (to_query("anna", part) for part in (words, text[:15])):
            if query is not None:
                rows = connection.execute("SELECT 1 FROM w(?)", (query,)).fetchall()
                assert len(rows) <= 1
        # What is a part of the text is found.
        if (query := to_query("anna", text[:15])) is not None and len(text) <= 15:
            assert connection.execute("SELECT 1 FROM w(?)", (query,)).fetchall()
            other = to_query("bert", text[:15])
            assert connection.execute("SELECT 1 FROM w(?)", (other,)).fetchall() == []


@pytest.mark.parametrize("text", ["今" * 200, "x" * 200, "short " + "y" * 200, "word " * 40])
def test_a_long_question_has_a_title_that_says_something(tmp_path: Path, text: str) -> None:
    async def main(store: SQLiteStore) -> None:
        await store.begin(start("a", text))
        title = (await store.conversations("anna"))[0].title
        assert 40 < len(title) <= 61
        assert text.startswith(title.rstrip("… "))
        assert title.endswith("…")

    with closing(Database(tmp_path / "x.db")) as database:
        asyncio.run(main(SQLiteStore(database)))


def test_a_search_with_very_many_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TooManyWords):
        to_query("anna", "a " * (MAX_WORDS + 1))
    with tokened(tmp_path) as client:
        anna = User(client, "anna")
        refused = anna.send("get", "/api/conversations?q=" + "+".join("abcdefghijklmnopq"))
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == "too_many_words"
        allowed = anna.send("get", "/api/conversations?q=" + "+".join("abcdefghijklmnop"))
        assert allowed.status_code == 200


def test_a_user_who_searches_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    with tokened(tmp_path, searches_per_minute=2) as client:
        anna, bert = User(client, "anna"), User(client, "bert")
        codes = [anna.send("get", "/api/conversations?q=x").status_code for _ in range(3)]
        assert codes == [200, 200, 429]
        refused = anna.send("get", "/api/conversations?q=x")
        assert refused.json()["error"]["code"] == "too_many_searches"
        assert int(refused.headers["retry-after"]) >= 1
        assert anna.send("get", "/api/conversations").status_code == 200
        assert bert.send("get", "/api/conversations?q=x").status_code == 200


def test_a_user_who_has_stored_too_much_deletes_first(tmp_path: Path) -> None:
    with tokened(tmp_path, max_stored_bytes_per_user=6_000) as client:
        anna, bert = User(client, "anna"), User(client, "bert")
        first = anna.send("post", "/api/chat", {"message": "x" * 7_000})
        assert first.status_code == 200
        refused = anna.send("post", "/api/chat", {"message": "more"})
        assert refused.status_code == 403
        assert refused.json()["error"]["code"] == "storage_full"
        assert bert.send("post", "/api/chat", {"message": "x"}).status_code == 200
        path = f"/api/conversations/{first.headers['x-conversation-id']}"
        assert anna.send("delete", path).status_code == 204
        assert anna.send("post", "/api/chat", {"message": "more"}).status_code == 200


def test_nothing_waits_behind_searches_and_searches_end(tmp_path: Path) -> None:
    async def main(database: Database) -> None:
        go_on = threading.Event()
        slow = [
            asyncio.create_task(database.search(lambda c: go_on.wait(20), 20)) for _ in range(32)
        ]
        await asyncio.sleep(0)
        with pytest.raises(SearchFailed, match="too many"):
            await database.search(lambda c: None, 1)
        assert await database.fetch("SELECT 1")
        go_on.set()
        assert all(await asyncio.gather(*slow))
        endless = (
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
        )
        with pytest.raises(SearchFailed, match="too long"):
            await database.search(lambda c: c.execute(endless).fetchall(), 0.05)
        assert await database.search(lambda c: c.execute("SELECT 2").fetchone()[0], 5) == 2

    with closing(Database(tmp_path / "x.db")) as database:
        asyncio.run(main(database))


def test_the_messages_of_others_cost_a_search_no_steps(tmp_path: Path) -> None:
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    async def main(store: SQLiteStore, database: Database) -> tuple[int, int]:
        nonlocal steps
        await store.begin(start("mine", "a salmon"))
        taken: list[int] = []
        for first, last in ((0, 20), (20, 200)):
            for number in range(first, last):
                await store.begin(start(f"{number}", "a salmon", "bert"))
            query = to_query("anna", "a s")
            steps = 0

            def work(connection: sqlite3.Connection, query: str | None = query) -> int:
                connection.set_progress_handler(count, 1)
                sql = "SELECT conversation_id FROM word_index(?) ORDER BY rowid DESC"
                return len(connection.execute(sql, (query,)).fetchall())

            assert await database.read(work) == 1
            taken.append(steps)
        return taken[0], taken[1]

    with closing(Database(tmp_path / "x.db")) as database:
        few, many = asyncio.run(main(SQLiteStore(database), database))
    # FTS5 has more parts to look into, but not ten times the rows.
    assert many < 2 * few
