"""The store in SQLite."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

import msgspec

from headrace.content import TextContent
from headrace.events import Record
from headrace.messages import Message
from headrace.server.database import Database
from headrace.server.log.group import rows_of
from headrace.server.log.sqlite import insert
from headrace.server.schema import migrate
from headrace.server.store.store import (
    Begun,
    Conversation,
    KeyTaken,
    Mark,
    NotFound,
    RunLive,
    RunRow,
    Start,
    StoredMessage,
)

_TITLE_CHARS = 60
_NEWEST = Mark(2**63 - 1, "")
_WORD = re.compile(r"\w+")
_decode_message = msgspec.json.Decoder(Message).decode
_encode = msgspec.json.Encoder().encode


class SQLiteStore:
    """Conversations and messages in the file of the log."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.message_writes = 0
        """Assistant messages that were written: one for each run, and none before its end."""
        database.write_now(migrate)

    # -- runs

    async def begin(self, start: Start) -> Begun:
        return await self._database.write(lambda connection: _begin(connection, start))

    async def repeated(self, start: Start) -> Begun | None:
        if start.idempotency_key is None:
            return None
        return await self._database.read(lambda connection: _repeated(connection, start))

    async def commit(self, run: RunRow, message: Message, closing: Sequence[Record]) -> None:
        body, text, rows = _encode(message), message.text, rows_of(run.id, closing)
        now_ms = closing[-1].at_ms if closing else message.created_at_ms

        def work(connection: sqlite3.Connection) -> bool:
            is_new = _insert_answer(connection, run, body, text, message.created_at_ms)
            insert(connection, rows)
            connection.execute(
                "UPDATE runs SET state = 'closed', closed_ms = ? WHERE id = ?", (now_ms, run.id)
            )
            return is_new

        # Not in one line: others commit while this waits.
        is_new = await self._database.write(work)
        self.message_writes += is_new

    async def is_committed(self, run: RunRow) -> bool:
        return await self._database.read(lambda connection: _is_committed(connection, run))

    async def run(self, owner: str, message_id: str) -> RunRow:
        row = await self._database.read(
            lambda connection: connection.execute(
                "SELECT * FROM runs WHERE message_id = ? AND owner = ?", (message_id, owner)
            ).fetchone()
        )
        return _run(_there(row))

    async def live_runs(self) -> list[RunRow]:
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT * FROM runs WHERE state = 'live' ORDER BY created_ms"
            ).fetchall()
        )
        return [_run(row) for row in rows]

    async def closed_runs(self, before_ms: int) -> list[str]:
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT id FROM runs WHERE state = 'closed' AND closed_ms < ? AND EXISTS"
                " (SELECT 1 FROM records WHERE records.run_id = runs.id)",
                (before_ms,),
            ).fetchall()
        )
        return [row["id"] for row in rows]

    # -- conversations

    async def conversations(
        self, owner: str, limit: int = 100, before: Mark | None = None
    ) -> list[Conversation]:
        mark = before or _NEWEST
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT * FROM conversations WHERE owner = ? AND updated_ms <= ?"
                " AND (updated_ms < ? OR id > ?) ORDER BY updated_ms DESC, id LIMIT ?",
                (owner, mark.updated_ms, mark.updated_ms, mark.id, limit),
            ).fetchall()
        )
        return [_conversation(row) for row in rows]

    async def conversation(self, owner: str, conversation_id: str) -> Conversation:
        row = await self._database.read(lambda c: _find(c, owner, conversation_id))
        return _conversation(row)

    async def messages(self, owner: str, conversation_id: str) -> list[StoredMessage]:
        def work(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            _find(connection, owner, conversation_id)
            return connection.execute(
                "SELECT * FROM messages WHERE conversation_id = ? AND owner = ?"
                " ORDER BY created_ms, rowid",
                (conversation_id, owner),
            ).fetchall()

        return [_stored(row) for row in await self._database.read(work)]

    async def branch(self, owner: str, message_id: str) -> list[StoredMessage]:
        rows = await self._database.read(lambda c: _branch(c, owner, message_id))
        return [_stored(row) for row in rows]

    async def rename(self, owner: str, conversation_id: str, title: str) -> Conversation:
        def work(connection: sqlite3.Connection) -> sqlite3.Row:
            _find(connection, owner, conversation_id)
            connection.execute(
                "UPDATE conversations SET title = ?, is_titled = 1 WHERE id = ?",
                (title, conversation_id),
            )
            connection.execute("DELETE FROM titles WHERE conversation_id = ?", (conversation_id,))
            _index_title(connection, conversation_id, owner, title)
            return _find(connection, owner, conversation_id)

        return _conversation(await self._database.write(work))

    async def select(self, owner: str, conversation_id: str, leaf_id: str) -> Conversation:
        def work(connection: sqlite3.Connection) -> sqlite3.Row:
            _find_message(connection, owner, leaf_id, conversation_id)
            connection.execute(
                "UPDATE conversations SET leaf_id = ? WHERE id = ?", (leaf_id, conversation_id)
            )
            return _find(connection, owner, conversation_id)

        return _conversation(await self._database.write(work))

    async def live_under(self, owner: str, conversation_id: str) -> list[RunRow]:
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT * FROM runs WHERE conversation_id = ? AND owner = ? AND state = 'live'"
                " ORDER BY created_ms, rowid",
                (conversation_id, owner),
            ).fetchall()
        )
        return [_run(row) for row in rows]

    async def delete(self, owner: str, conversation_id: str) -> list[str]:
        return await self._database.write(lambda c: _delete(c, owner, conversation_id))

    async def search(self, owner: str, words: str, limit: int = 50) -> list[Conversation]:
        wanted = " ".join(f'"{word}"*' for word in _WORD.findall(words))
        if not wanted:
            return []
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT conversations.* FROM ("
                " SELECT conversation_id, 0 AS kind, rank FROM titles(:match) WHERE owner = :owner"
                " UNION ALL"
                " SELECT conversation_id, 1 AS kind, rank FROM words(:match) WHERE owner = :owner"
                ") AS found JOIN conversations ON conversations.id = found.conversation_id"
                " WHERE conversations.owner = :owner"
                " GROUP BY conversations.id ORDER BY MIN(kind), MIN(rank) LIMIT :limit",
                {"match": f"text : ({wanted})", "owner": owner, "limit": limit},
            ).fetchall()
        )
        return [_conversation(row) for row in rows]


# --- inside a transaction ----------------------------------------------------------


def _repeated(connection: sqlite3.Connection, start: Start) -> Begun | None:
    known = connection.execute(
        "SELECT * FROM runs WHERE owner = ? AND idempotency_key = ?",
        (start.owner, start.idempotency_key),
    ).fetchone()
    if known is None:
        return None
    if known["fingerprint"] != start.fingerprint:
        raise KeyTaken("the idempotency key was used for another request")
    return Begun(run=_run(known), is_repeated=True)


def _begin(connection: sqlite3.Connection, start: Start) -> Begun:
    known = _repeated(connection, start)
    if known is not None:
        return known
    conversation_id, parent_id = _place(connection, start)
    if not start.is_branch:
        _refuse_live(connection, start.owner, conversation_id, parent_id)
    answered = _insert_prompt(connection, start, conversation_id, parent_id)
    run = RunRow(
        id=start.run_id,
        owner=start.owner,
        conversation_id=conversation_id,
        parent_id=answered,
        message_id=start.message_id,
        model=start.model,
        created_ms=start.now_ms,
        is_live=True,
    )
    _insert_run(connection, run, start)
    return Begun(run=run)


def _place(connection: sqlite3.Connection, start: Start) -> tuple[str, str | None]:
    """The conversation, which may be new, and the message that is followed."""
    if start.conversation_id is None or start.prompt is None:
        return _place_of_old(connection, start)
    if start.is_new:
        title = _title_of(start.prompt.message)
        connection.execute(
            "INSERT INTO conversations (id, owner, title, created_ms, updated_ms)"
            " VALUES (?, ?, ?, ?, ?)",
            (start.conversation_id, start.owner, title, start.now_ms, start.now_ms),
        )
        _index_title(connection, start.conversation_id, start.owner, title)
        return start.conversation_id, None
    row = _find(connection, start.owner, start.conversation_id)
    if start.beside_id is not None:
        beside = _find_message(connection, start.owner, start.beside_id, start.conversation_id)
        return start.conversation_id, beside["parent_id"]
    if start.parent_id is None:
        return start.conversation_id, row["leaf_id"]
    _find_message(connection, start.owner, start.parent_id, start.conversation_id)
    return start.conversation_id, start.parent_id


def _place_of_old(connection: sqlite3.Connection, start: Start) -> tuple[str, str | None]:
    """A message that is there is answered again."""
    row = _find_message(connection, start.owner, start.parent_id or "", start.conversation_id)
    if row["role"] != "user":
        raise NotFound("only a user's message is answered again: there is none of that id")
    return row["conversation_id"], row["id"]


def _refuse_live(
    connection: sqlite3.Connection, owner: str, conversation_id: str, parent_id: str | None
) -> None:
    """No second run under a message whose answer is still being written, or follows on it."""
    live = connection.execute(
        "SELECT runs.message_id FROM runs LEFT JOIN messages ON messages.id = runs.parent_id"
        " WHERE runs.conversation_id = ? AND runs.owner = ? AND runs.state = 'live'"
        " AND (runs.parent_id IS ? OR messages.parent_id IS ?)",
        (conversation_id, owner, parent_id, parent_id),
    ).fetchone()
    if live is not None:
        raise RunLive(live["message_id"])


def _insert_prompt(
    connection: sqlite3.Connection, start: Start, conversation_id: str, parent_id: str | None
) -> str:
    """The user's message, and the id of the one that is answered."""
    prompt = start.prompt
    if prompt is None:
        assert parent_id is not None
        _touch(connection, conversation_id, parent_id, start.now_ms)
        return parent_id
    connection.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, NULL, ?, ?, ?)",
        (
            prompt.id,
            conversation_id,
            start.owner,
            parent_id,
            prompt.message.role,
            start.now_ms,
            _encode(prompt.message),
        ),
    )
    _index(connection, prompt.id, conversation_id, start.owner, _words(prompt.message))
    _touch(connection, conversation_id, prompt.id, start.now_ms)
    return prompt.id


def _insert_run(connection: sqlite3.Connection, run: RunRow, start: Start) -> None:
    connection.execute(
        "INSERT INTO runs (id, owner, conversation_id, parent_id, message_id, model, created_ms,"
        " idempotency_key, fingerprint) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run.id,
            run.owner,
            run.conversation_id,
            run.parent_id,
            run.message_id,
            run.model,
            run.created_ms,
            start.idempotency_key,
            start.fingerprint,
        ),
    )


def _insert_answer(
    connection: sqlite3.Connection, run: RunRow, body: bytes, text: str, at_ms: int
) -> bool:
    """The assistant's message; False where it was there."""
    if _is_committed(connection, run):
        return False
    connection.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, 'assistant', ?, ?)",
        (run.message_id, run.conversation_id, run.owner, run.parent_id, run.id, at_ms, body),
    )
    _index(connection, run.message_id, run.conversation_id, run.owner, text)
    _touch(connection, run.conversation_id, run.message_id, at_ms, follows=run.parent_id)
    return True


def _is_committed(connection: sqlite3.Connection, run: RunRow) -> bool:
    found = connection.execute("SELECT 1 FROM messages WHERE run_id = ?", (run.id,)).fetchone()
    return found is not None


def _index(
    connection: sqlite3.Connection, message_id: str, conversation_id: str, owner: str, text: str
) -> None:
    connection.execute(
        "INSERT INTO words (text, message_id, conversation_id, owner) VALUES (?, ?, ?, ?)",
        (text, message_id, conversation_id, owner),
    )


def _index_title(
    connection: sqlite3.Connection, conversation_id: str, owner: str, title: str
) -> None:
    connection.execute(
        "INSERT INTO titles (text, conversation_id, owner) VALUES (?, ?, ?)",
        (title, conversation_id, owner),
    )


def _touch(
    connection: sqlite3.Connection,
    conversation_id: str,
    leaf_id: str,
    at_ms: int,
    follows: str | None = None,
) -> None:
    """Move the leaf; an answer only where the reader has stayed with its question."""
    connection.execute(
        "UPDATE conversations SET updated_ms = MAX(updated_ms, ?),"
        " leaf_id = CASE WHEN ? IS NULL OR leaf_id = ? THEN ? ELSE leaf_id END WHERE id = ?",
        (at_ms, follows, follows, leaf_id, conversation_id),
    )


def _delete(connection: sqlite3.Connection, owner: str, conversation_id: str) -> list[str]:
    _find(connection, owner, conversation_id)
    runs = connection.execute(
        "SELECT id, state, message_id FROM runs WHERE conversation_id = ?", (conversation_id,)
    ).fetchall()
    for run in runs:
        if run["state"] == "live":
            raise RunLive(run["message_id"])
    ids = [run["id"] for run in runs]
    connection.executemany("DELETE FROM records WHERE run_id = ?", [(one,) for one in ids])
    for index in ("words", "titles"):
        connection.execute(f"DELETE FROM {index} WHERE conversation_id = ?", (conversation_id,))
    connection.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))
    return ids


def _find(connection: sqlite3.Connection, owner: str, conversation_id: str) -> sqlite3.Row:
    return _there(
        connection.execute(
            "SELECT * FROM conversations WHERE id = ? AND owner = ?", (conversation_id, owner)
        ).fetchone()
    )


def _find_message(
    connection: sqlite3.Connection, owner: str, message_id: str, conversation_id: str | None
) -> sqlite3.Row:
    row = _there(
        connection.execute(
            "SELECT * FROM messages WHERE id = ? AND owner = ?", (message_id, owner)
        ).fetchone()
    )
    if conversation_id is not None and row["conversation_id"] != conversation_id:
        raise NotFound("there is nothing of that id")
    return row


def _branch(connection: sqlite3.Connection, owner: str, message_id: str) -> list[sqlite3.Row]:
    rows = connection.execute(
        "WITH RECURSIVE up (id, depth) AS ("
        " SELECT ?, 0 UNION ALL SELECT messages.parent_id, up.depth + 1 FROM messages"
        " JOIN up ON messages.id = up.id WHERE messages.parent_id IS NOT NULL)"
        " SELECT messages.* FROM messages JOIN up ON messages.id = up.id"
        " WHERE messages.owner = ? ORDER BY up.depth DESC",
        (message_id, owner),
    ).fetchall()
    _there(rows or None)
    return rows


# --- rows to values ------------------------------------------------------------------


def _there(row: sqlite3.Row | list[sqlite3.Row] | None) -> sqlite3.Row:
    if row is None:
        raise NotFound("there is nothing of that id")
    return row  # type: ignore[return-value]


def _conversation(row: sqlite3.Row) -> Conversation:
    return Conversation(
        id=row["id"],
        title=row["title"],
        created_ms=row["created_ms"],
        updated_ms=row["updated_ms"],
        leaf_id=row["leaf_id"],
    )


def _stored(row: sqlite3.Row) -> StoredMessage:
    return StoredMessage(
        id=row["id"],
        conversation_id=row["conversation_id"],
        parent_id=row["parent_id"],
        message=_decode_message(row["body"]),
    )


def _run(row: sqlite3.Row) -> RunRow:
    return RunRow(
        id=row["id"],
        owner=row["owner"],
        conversation_id=row["conversation_id"],
        parent_id=row["parent_id"],
        message_id=row["message_id"],
        model=row["model"],
        created_ms=row["created_ms"],
        is_live=row["state"] == "live",
    )


def _words(message: Message) -> str:
    return "\n".join(part.text for part in message.content if isinstance(part, TextContent))


def _title_of(message: Message) -> str:
    """The beginning of what was asked, cut at a word."""
    text = " ".join(_words(message).split())
    if len(text) <= _TITLE_CHARS:
        return text
    return text[:_TITLE_CHARS].rpartition(" ")[0] + " …"
