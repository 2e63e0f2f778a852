"""The store in SQLite, in the same file as the log."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

import msgspec

from headrace.events import Record
from headrace.messages import Message
from headrace.server.storage.migrations import migrate
from headrace.server.storage.snippet import MAX_SNIPPET_BYTES
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.record_writer import RecordWriter, encode_rows
from headrace.server.storage.sqlite.search_index import find_conversations, to_query
from headrace.server.storage.store import row as tables
from headrace.server.storage.store.deletion import delete_slice, hide
from headrace.server.storage.store.inbox import (
    InboxEntry,
    add_entry,
    claim_run,
    find_entry,
    move_entries,
    read_open_entries,
    suspend_run,
    take_entries,
)
from headrace.server.storage.store.message_page import page_bytes, read_page
from headrace.server.storage.store.new_run import begin_run, find_repeated
from headrace.server.storage.store.store import (
    NEWEST,
    Conversation,
    ConversationNote,
    MessagePage,
    MessageQuery,
    NotFound,
    PageCursor,
    RunRow,
    RunStart,
    SearchHit,
    StartedRun,
    StoredMessage,
    measure_use,
)
from headrace.server.storage.usage.usage_table import insert_usage, usage_of_run

_FIRST_PAGE = PageCursor(2**63 - 1, "")
# Longer than any search takes; a search that does is ended.
_SEARCH_S = 2.0
_encode = msgspec.json.Encoder().encode


class SQLiteStore:
    """Conversations, messages and runs in SQLite; see `Store`. Creates or updates the tables."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._records = RecordWriter.of(database)
        self.message_writes = 0
        """Number of answers committed so far."""
        database.write_now(migrate)

    # -- runs

    async def begin(self, start: RunStart) -> StartedRun:
        return await self._database.write(lambda connection: begin_run(connection, start))

    async def find_repeated(self, start: RunStart) -> StartedRun | None:
        if start.idempotency_key is None:
            return None
        return await self._database.read(lambda connection: find_repeated(connection, start))

    async def commit(self, run: RunRow, message: Message, closing: Sequence[Record]) -> None:
        body, text, rows = _encode(message), message.text, encode_rows(run.id, closing)
        now_ms = closing[-1].at_ms if closing else message.created_at_ms
        usage = usage_of_run(run, message, now_ms)

        def work(connection: sqlite3.Connection) -> bool:
            is_new = _insert_answer(connection, run, body, text, message.created_at_ms)
            if is_new:
                tables.note_answer(connection, run.conversation_id, measure_use(message))
            self._records.append(connection, rows)
            if is_new:
                insert_usage(connection, usage)
            connection.execute(
                "UPDATE runs SET state = 'closed', closed_ms = ?, suspended_ms = NULL,"
                " expires_ms = NULL WHERE id = ?",
                (now_ms, run.id),
            )
            return is_new

        # Not in one expression: the counter may change while this waits.
        is_new = await self._database.write(work)
        self.message_writes += is_new

    async def is_committed(self, run: RunRow) -> bool:
        return await self._database.read(lambda connection: _is_committed(connection, run))

    async def run(self, owner: str, message_id: str) -> RunRow:
        query = (
            "SELECT * FROM runs WHERE message_id = ? AND owner = ? AND EXISTS (SELECT 1 FROM"
            " conversations WHERE id = conversation_id AND deleted_ms IS NULL)"
        )
        rows = await self._database.fetch(query, (message_id, owner))
        return tables.to_run(tables.require_row(rows[0] if rows else None))

    async def live_runs(self) -> list[RunRow]:
        query = (
            "SELECT * FROM runs WHERE state = 'live' AND suspended_ms IS NULL ORDER BY created_ms"
        )
        return [tables.to_run(row) for row in await self._database.fetch(query)]

    async def find_run(self, owner: str, run_id: str) -> RunRow:
        query = (
            "SELECT * FROM runs WHERE id = ? AND owner = ? AND EXISTS (SELECT 1 FROM"
            " conversations WHERE id = conversation_id AND deleted_ms IS NULL)"
        )
        rows = await self._database.fetch(query, (run_id, owner))
        return tables.to_run(tables.require_row(rows[0] if rows else None))

    async def open_runs(self, owner: str, limit: int) -> list[RunRow]:
        query = (
            "SELECT runs.* FROM conversations JOIN runs ON runs.conversation_id = conversations.id"
            " WHERE conversations.owner = ? AND deleted_ms IS NULL AND state = 'live'"
            " ORDER BY runs.created_ms LIMIT ?"
        )
        return [tables.to_run(row) for row in await self._database.fetch(query, (owner, limit))]

    async def suspend(
        self,
        run: RunRow,
        now_ms: int,
        expires_ms: int | None,
        *,
        even_with_input: bool = False,
    ) -> bool:
        return await self._database.write(
            lambda c: suspend_run(c, run.id, now_ms, expires_ms, even_with_input)
        )

    async def claim(self, run: RunRow, *, even_if_live: bool = False) -> int | None:
        return await self._database.write(lambda c: claim_run(c, run.id, even_if_live))

    async def expired_runs(self, before_ms: int, limit: int, skip: int = 0) -> list[RunRow]:
        rows = await self._database.fetch(
            "SELECT * FROM runs WHERE suspended_ms IS NOT NULL AND expires_ms < ?"
            " ORDER BY expires_ms LIMIT ? OFFSET ?",
            (before_ms, limit, skip),
        )
        return [tables.to_run(row) for row in rows]

    async def runs_with_entries(self) -> list[RunRow]:
        rows = await self._database.fetch(
            "SELECT * FROM runs WHERE id IN (SELECT run_id FROM inbox WHERE is_taken = 0)"
            " AND (state = 'closed' OR suspended_ms IS NOT NULL) ORDER BY created_ms"
        )
        return [tables.to_run(row) for row in rows]

    # -- the inbox of runs

    async def add_entry(self, entry: InboxEntry) -> InboxEntry:
        return await self._database.write(lambda c: add_entry(c, entry))

    async def find_entry(self, entry_id: str) -> InboxEntry | None:
        return await self._database.read(lambda c: find_entry(c, entry_id))

    async def move_entries(self, run_id: str, next_run_id: str) -> None:
        await self._database.write(lambda c: move_entries(c, run_id, next_run_id))

    async def open_entries(self, run_id: str) -> list[InboxEntry]:
        return await self._database.read(lambda c: read_open_entries(c, run_id))

    async def take_entries(self, entry_ids: Sequence[str]) -> None:
        await self._database.write(lambda c: take_entries(c, list(entry_ids)))

    async def closed_runs(self, before_ms: int) -> list[str]:
        query = "SELECT id FROM runs WHERE is_logged = 1 AND closed_ms < ?"
        return [row["id"] for row in await self._database.fetch(query, (before_ms,))]

    async def mark_expired(self, run_ids: Sequence[str]) -> None:
        rows = [(run_id,) for run_id in run_ids]
        await self._database.write(
            lambda connection: connection.executemany(
                "UPDATE runs SET is_logged = 0 WHERE id = ?", rows
            )
        )

    # -- conversations

    async def conversations(
        self, owner: str, limit: int = 100, before: PageCursor | None = None
    ) -> list[Conversation]:
        cursor = before or _FIRST_PAGE
        rows = await self._database.fetch(
            "SELECT * FROM conversations WHERE owner = ? AND deleted_ms IS NULL AND updated_ms <= ?"
            " AND (updated_ms < ? OR id > ?) ORDER BY updated_ms DESC, id LIMIT ?",
            (owner, cursor.updated_ms, cursor.updated_ms, cursor.id, limit),
        )
        return [tables.to_conversation(row) for row in rows]

    async def pinned(self, owner: str, limit: int = 100) -> list[Conversation]:
        rows = await self._database.fetch(
            "SELECT * FROM conversations WHERE owner = ? AND deleted_ms IS NULL AND is_pinned = 1"
            " ORDER BY updated_ms DESC, id LIMIT ?",
            (owner, limit),
        )
        return [tables.to_conversation(row) for row in rows]

    async def conversation(self, owner: str, conversation_id: str) -> Conversation:
        row = await self._database.read(
            lambda c: tables.find_conversation(c, owner, conversation_id)
        )
        return tables.to_conversation(row)

    async def messages(
        self, owner: str, conversation_id: str, query: MessageQuery = NEWEST
    ) -> MessagePage:
        # Decoded in the thread of the reader: there may be megabytes of them.
        def work(connection: sqlite3.Connection) -> MessagePage:
            rows, has_more = read_page(connection, owner, conversation_id, query)
            messages = [tables.to_stored_message(row) for row in rows]
            return MessagePage(messages=messages, has_more=has_more)

        return await self._database.read(work)

    async def message_bytes(
        self, owner: str, conversation_id: str, query: MessageQuery = NEWEST
    ) -> int:
        return await self._database.read(lambda c: page_bytes(c, owner, conversation_id, query))

    async def branch_ids(self, owner: str, message_id: str) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            tables.find_message(connection, owner, message_id, None)
            return tables.read_branch_ids(connection, message_id)

        return await self._database.read(work)

    async def branch(self, owner: str, message_id: str) -> list[StoredMessage]:
        def work(connection: sqlite3.Connection) -> list[StoredMessage]:
            rows = tables.read_branch(connection, message_id)
            if not rows or rows[-1]["owner"] != owner:
                raise NotFound("nothing with this id was found")
            return [tables.to_stored_message(row) for row in rows]

        return await self._database.read(work)

    async def rename(self, owner: str, conversation_id: str, title: str) -> Conversation:
        def work(connection: sqlite3.Connection) -> sqlite3.Row:
            found = tables.find_conversation(connection, owner, conversation_id)
            tables.set_title(connection, found, title)
            return tables.find_conversation(connection, owner, conversation_id)

        return tables.to_conversation(await self._database.write(work))

    async def suggest_title(self, owner: str, conversation_id: str, title: str) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            try:
                found = tables.find_conversation(connection, owner, conversation_id)
            except NotFound:
                return False
            if found["is_titled"]:
                return False
            tables.set_title(connection, found, title)
            return True

        return await self._database.write(work)

    async def annotate(
        self, owner: str, conversation_id: str, note: ConversationNote
    ) -> Conversation:
        columns = note.columns

        def work(connection: sqlite3.Connection) -> sqlite3.Row:
            tables.find_conversation(connection, owner, conversation_id)
            for name, value in columns.items():
                connection.execute(
                    f"UPDATE conversations SET {name} = ? WHERE id = ?", (value, conversation_id)
                )
            return tables.find_conversation(connection, owner, conversation_id)

        return tables.to_conversation(await self._database.write(work))

    async def select(self, owner: str, conversation_id: str, leaf_id: str) -> Conversation:
        def work(connection: sqlite3.Connection) -> sqlite3.Row:
            tables.find_message(connection, owner, leaf_id, conversation_id)
            connection.execute(
                "UPDATE conversations SET leaf_id = ? WHERE id = ?", (leaf_id, conversation_id)
            )
            return tables.find_conversation(connection, owner, conversation_id)

        return tables.to_conversation(await self._database.write(work))

    async def live_under(self, owner: str, conversation_id: str) -> list[RunRow]:
        rows = await self._database.fetch(
            "SELECT * FROM runs WHERE conversation_id = ? AND owner = ? AND state = 'live'"
            " ORDER BY created_ms, rowid",
            (conversation_id, owner),
        )
        return [tables.to_run(row) for row in rows]

    async def delete(self, owner: str, conversation_id: str) -> list[str]:
        now_ms = int(time.time() * 1000)

        def work(connection: sqlite3.Connection) -> tuple[list[str], bool]:
            ids = hide(connection, self._records, owner, conversation_id, now_ms)
            return ids, delete_slice(connection, conversation_id)

        ids, is_done = await self._database.write(work)
        self._database.has_deleted = True
        while not is_done:
            is_done = await self._database.write(lambda c: delete_slice(c, conversation_id))
        return ids

    async def search(self, owner: str, words: str, limit: int = 50) -> list[SearchHit]:
        query = to_query(owner, words)
        if query is None:
            return []

        def work(connection: sqlite3.Connection) -> list[SearchHit]:
            found = find_conversations(connection, owner, query, limit)
            return [_to_hit(connection, row, place, words) for row, place in found]

        return await self._database.search(work, _SEARCH_S)


# --- inside a transaction ----------------------------------------------------------


def _to_hit(
    connection: sqlite3.Connection, row: sqlite3.Row, words_row: int | None, words: str
) -> SearchHit:
    """Return what a search has found, with the text of the message around the first match."""
    conversation = tables.to_conversation(row)
    message = connection.execute(
        "SELECT id, CASE WHEN length(body) <= ? THEN body END AS body FROM messages"
        " WHERE words_row = ?",
        (MAX_SNIPPET_BYTES, words_row),
    ).fetchone()
    if message is None:
        return SearchHit(conversation=conversation)
    snippet = tables.read_snippet(message["body"], words)
    return SearchHit(conversation=conversation, message_id=message["id"], snippet=snippet)


def _insert_answer(
    connection: sqlite3.Connection, run: RunRow, body: bytes, text: str, at_ms: int
) -> bool:
    """Insert the answer of a run. Return False if it is stored already."""
    if _is_committed(connection, run):
        return False
    row = tables.index_words(connection, run.conversation_id, run.owner, text)
    at_ms = tables.not_before_parent(connection, run.parent_id, at_ms)
    connection.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, 'assistant', ?, ?, ?)",
        (run.message_id, run.conversation_id, run.owner, run.parent_id, run.id, at_ms, body, row),
    )
    tables.touch(connection, run.conversation_id, run.message_id, at_ms, follows=run.parent_id)
    return True


def _is_committed(connection: sqlite3.Connection, run: RunRow) -> bool:
    found = connection.execute("SELECT 1 FROM messages WHERE run_id = ?", (run.id,)).fetchone()
    return found is not None
