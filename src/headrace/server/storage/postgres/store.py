"""The store in PostgreSQL, in the same database as the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from headrace.events import Record
from headrace.messages import Message
from headrace.server.storage.errors import RunTaken
from headrace.server.storage.log.batch import Batch, encode_batch
from headrace.server.storage.outage import retry
from headrace.server.storage.postgres.live_log import LiveLog
from headrace.server.storage.postgres.log import append_batches, explain_refusal, move_batches
from headrace.server.storage.postgres.pool import Connection, Pool, to_text
from headrace.server.storage.postgres.tables import inbox, rows
from headrace.server.storage.postgres.tables.deletion import delete_hidden, hide
from headrace.server.storage.postgres.tables.message_page import page_bytes, read_page
from headrace.server.storage.postgres.tables.new_run import begin_run, find_begun, find_repeated
from headrace.server.storage.postgres.tables.nodes import ALIVE
from headrace.server.storage.postgres.tables.search import find_conversations
from headrace.server.storage.postgres.tables.usage import insert_usage
from headrace.server.storage.store.inbox import InboxEntry
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
from headrace.server.storage.usage.usage_table import usage_of_run

_FIRST_PAGE = PageCursor(2**63 - 1, "")
_VISIBLE = (
    " AND EXISTS (SELECT 1 FROM conversations WHERE id = conversation_id AND deleted_ms IS NULL)"
)
_encode = msgspec.json.Encoder().encode


class PostgresStore:
    """Conversations, messages and runs in PostgreSQL; see `Store`. `node` is the name of this
    server, which holds the runs that it begins."""

    def __init__(self, pool: Pool, node: str) -> None:
        self._pool = pool
        self._node = node
        self.live_log: LiveLog | None = None
        """Has the records of live runs, if they are not in the database."""
        self.may_take_over: Callable[[], bool] = lambda: True
        """Returns whether this server may take the runs of servers that seem to be gone."""
        self.message_writes = 0
        """Number of answers committed so far."""

    # -- runs

    async def begin(self, start: RunStart) -> StartedRun:
        async def work() -> StartedRun:
            async with self._pool.transaction() as connection:
                # If the answer to a commit was lost, the run has begun already.
                known = await find_begun(connection, start)
                return known or await begin_run(connection, start, self._node)

        return await retry(work)

    async def find_repeated(self, start: RunStart) -> StartedRun | None:
        if start.idempotency_key is None:
            return None
        async with self._pool.transaction() as connection:
            return await find_repeated(connection, start)

    async def commit(self, run: RunRow, message: Message, closing: Sequence[Record]) -> None:
        body = _encode(message)
        live = await self._collect(run, closing[0].seq - 1 if closing else None)

        async def work() -> bool:
            async with self._pool.transaction() as connection:
                return await self._commit(connection, run, message, body, live, closing)

        # If the answer to a commit is lost, the next attempt finds what the first has stored.
        is_new = await retry(work)
        self.message_writes += is_new
        last_seq = _last_seq(live, closing)
        if self.live_log is not None and last_seq is not None:
            await self.live_log.retire(run, last_seq, is_closed=True)

    async def _collect(self, run: RunRow, last_seq: int | None) -> list[Batch]:
        """Return the records of a run that are not in the database yet."""
        return [] if self.live_log is None else await self.live_log.collect(run, last_seq)

    async def _commit(
        self,
        connection: Connection,
        run: RunRow,
        message: Message,
        body: bytes,
        live: Sequence[Batch],
        closing: Sequence[Record],
    ) -> bool:
        """Insert the answer, unless it is there, and append the last records, after those of a log
        elsewhere."""
        now_ms = closing[-1].at_ms if closing else message.created_at_ms
        # In this order everywhere: first the conversation, then the run.
        await connection.execute(
            "SELECT 1 FROM conversations WHERE id = $1 FOR UPDATE", run.conversation_id
        )
        state = await connection.fetchrow("SELECT epoch FROM runs WHERE id = $1 FOR UPDATE", run.id)
        if state is None or state["epoch"] != run.epoch:
            raise RunTaken(f"another server has run {run.id}: its answer is not saved here")
        is_new = await _insert_answer(connection, run, message, body)
        await move_batches(connection, live)
        if closing:
            batch = encode_batch(run.id, run.epoch, closing)
            if not await append_batches(connection, [batch]):
                error = await explain_refusal(connection, batch)
                if error is not None:
                    raise error
        if is_new:
            await insert_usage(connection, usage_of_run(run, message, now_ms))
            logged = await connection.fetchval(
                "SELECT sum(length(body)) FROM log_chunks WHERE run_id = $1", run.id
            )
            await rows.add_stored_bytes(connection, run.owner, len(body) + (logged or 0))
        await connection.execute(
            "UPDATE runs SET state = 'closed', closed_ms = $2, suspended_ms = NULL,"
            " expires_ms = NULL WHERE id = $1",
            run.id,
            now_ms,
        )
        return is_new

    async def is_committed(self, run: RunRow) -> bool:
        return bool(await self._pool.fetch("SELECT 1 FROM messages WHERE run_id = $1", run.id))

    async def run(self, owner: str, message_id: str) -> RunRow:
        query = f"SELECT * FROM runs WHERE message_id = $1 AND owner = $2{_VISIBLE}"
        return await self._find_run(query, message_id, owner)

    async def find_run(self, owner: str, run_id: str) -> RunRow:
        query = f"SELECT * FROM runs WHERE id = $1 AND owner = $2{_VISIBLE}"
        return await self._find_run(query, run_id, owner)

    async def _find_run(self, query: str, *values: object) -> RunRow:
        found = await self._pool.fetch(query, *values)
        return rows.to_run(rows.require_row(found[0] if found else None))

    async def live_runs(self) -> list[RunRow]:
        query = (
            "SELECT * FROM runs WHERE state = 'live' AND suspended_ms IS NULL"
            f" AND (holder = $1 OR holder IS NULL OR ($2 AND NOT {ALIVE})) ORDER BY created_ms"
        )
        found = await self._pool.fetch(query, self._node, self.may_take_over())
        return [rows.to_run(row) for row in found]

    async def open_runs(self, owner: str, limit: int) -> list[RunRow]:
        query = (
            f"SELECT * FROM runs WHERE owner = $1 AND state = 'live'{_VISIBLE}"
            " ORDER BY created_ms LIMIT $2"
        )
        return [rows.to_run(row) for row in await self._pool.fetch(query, owner, limit)]

    async def suspend(
        self,
        run: RunRow,
        now_ms: int,
        expires_ms: int | None,
        *,
        even_with_input: bool = False,
    ) -> bool:
        live = await self._collect(run, None)

        async def work() -> bool:
            async with self._pool.transaction() as connection:
                is_suspended = await inbox.suspend_run(
                    connection, run, now_ms, expires_ms, even_with_input
                )
                if is_suspended:
                    await move_batches(connection, live)
                return is_suspended

        is_suspended = await retry(work)
        if is_suspended and live and self.live_log is not None:
            await self.live_log.retire(run, live[-1].last_seq, is_closed=False)
        return is_suspended

    async def claim(self, run: RunRow, *, even_if_live: bool = False) -> int | None:
        can_take_over = even_if_live and self.may_take_over()
        async with self._pool.transaction() as connection:
            epoch = await inbox.claim_run(
                connection, run, self._node, even_if_live=even_if_live, can_take_over=can_take_over
            )
        # Nothing is read before the log refuses what an earlier server still writes.
        if epoch is not None and self.live_log is not None:
            await self.live_log.claim(run.id, epoch)
        return epoch

    async def owns(self, run_id: str, epoch: int) -> bool:
        """Return whether this server still has a run that it has claimed with this epoch."""
        return bool(
            await self._pool.fetch(
                "SELECT 1 FROM runs WHERE id = $1 AND epoch = $2 AND holder = $3"
                " AND state = 'live'",
                run_id,
                epoch,
                self._node,
            )
        )

    async def release(self, run: RunRow) -> None:
        """Give up a run, so that any server can go on with it."""
        await self._pool.execute(
            "UPDATE runs SET holder = NULL WHERE id = $1 AND epoch = $2", run.id, run.epoch
        )

    async def expired_runs(self, before_ms: int, limit: int, skip: int = 0) -> list[RunRow]:
        found = await self._pool.fetch(
            "SELECT * FROM runs WHERE suspended_ms IS NOT NULL AND expires_ms < $1"
            " ORDER BY expires_ms, id LIMIT $2 OFFSET $3",
            before_ms,
            limit,
            skip,
        )
        return [rows.to_run(row) for row in found]

    async def runs_with_entries(self) -> list[RunRow]:
        found = await self._pool.fetch(
            "SELECT * FROM runs WHERE id IN (SELECT run_id FROM inbox WHERE NOT is_taken)"
            " AND (state = 'closed' OR suspended_ms IS NOT NULL) ORDER BY created_ms"
        )
        return [rows.to_run(row) for row in found]

    # -- the inbox of runs

    async def add_entry(self, entry: InboxEntry) -> InboxEntry:
        async with self._pool.transaction() as connection:
            return await inbox.add_entry(connection, entry)

    async def find_entry(self, entry_id: str) -> InboxEntry | None:
        found = await self._pool.fetch("SELECT * FROM inbox WHERE id = $1", entry_id)
        return inbox.to_entry(found[0]) if found else None

    async def move_entries(self, run_id: str, next_run_id: str) -> None:
        await self._pool.execute(
            "UPDATE inbox SET run_id = $2 WHERE run_id = $1 AND NOT is_taken", run_id, next_run_id
        )

    async def open_entries(self, run_id: str) -> list[InboxEntry]:
        found = await self._pool.fetch(
            "SELECT * FROM inbox WHERE run_id = $1 AND NOT is_taken ORDER BY created_ms, place",
            run_id,
        )
        return [inbox.to_entry(row) for row in found]

    async def runs_to_wake(self) -> list[str]:
        """Return the ids of the runs of this server that have entries which they have not taken."""
        found = await self._pool.fetch(
            "SELECT DISTINCT run_id FROM inbox JOIN runs ON runs.id = run_id"
            " WHERE NOT is_taken AND holder = $1 AND state = 'live'",
            self._node,
        )
        return [row["run_id"] for row in found]

    async def take_entries(self, entry_ids: Sequence[str]) -> None:
        await self._pool.execute(
            "UPDATE inbox SET is_taken = true WHERE id = ANY($1)", list(entry_ids)
        )

    async def closed_runs(self, before_ms: int) -> list[str]:
        found = await self._pool.fetch(
            "SELECT id FROM runs WHERE is_logged AND closed_ms < $1", before_ms
        )
        return [row["id"] for row in found]

    async def mark_expired(self, run_ids: Sequence[str]) -> None:
        await self._pool.execute(
            "UPDATE runs SET is_logged = false WHERE id = ANY($1)", list(run_ids)
        )

    # -- conversations

    async def conversations(
        self, owner: str, limit: int = 100, before: PageCursor | None = None
    ) -> list[Conversation]:
        cursor = before or _FIRST_PAGE
        found = await self._pool.fetch(
            "SELECT * FROM conversations WHERE owner = $1 AND deleted_ms IS NULL"
            " AND updated_ms <= $2 AND (updated_ms < $2 OR id > $3)"
            " ORDER BY updated_ms DESC, id LIMIT $4",
            owner,
            cursor.updated_ms,
            cursor.id,
            limit,
        )
        return [rows.to_conversation(row) for row in found]

    async def pinned(self, owner: str, limit: int = 100) -> list[Conversation]:
        found = await self._pool.fetch(
            "SELECT * FROM conversations WHERE owner = $1 AND deleted_ms IS NULL AND is_pinned"
            " ORDER BY updated_ms DESC, id LIMIT $2",
            owner,
            limit,
        )
        return [rows.to_conversation(row) for row in found]

    async def conversation(self, owner: str, conversation_id: str) -> Conversation:
        async with self._pool.transaction() as connection:
            row = await rows.find_conversation(connection, owner, conversation_id)
        return rows.to_conversation(row)

    async def messages(
        self, owner: str, conversation_id: str, query: MessageQuery = NEWEST
    ) -> MessagePage:
        async with self._pool.transaction() as connection:
            found, has_more = await read_page(connection, owner, conversation_id, query)
        messages = [rows.to_stored_message(row) for row in found]
        return MessagePage(messages=messages, has_more=has_more)

    async def message_bytes(
        self, owner: str, conversation_id: str, query: MessageQuery = NEWEST
    ) -> int:
        async with self._pool.transaction() as connection:
            return await page_bytes(connection, owner, conversation_id, query)

    async def branch_ids(self, owner: str, message_id: str) -> list[str]:
        async with self._pool.transaction() as connection:
            await rows.find_message(connection, owner, message_id, None)
            found = await connection.fetch(
                f"{rows.BRANCH} SELECT id FROM up ORDER BY depth DESC", message_id
            )
        return [row["id"] for row in found]

    async def branch(self, owner: str, message_id: str) -> list[StoredMessage]:
        query = (
            f"{rows.BRANCH} SELECT messages.* FROM messages JOIN up ON messages.id = up.id"
            " ORDER BY up.depth DESC"
        )
        found = await self._pool.fetch(query, message_id)
        if not found or found[-1]["owner"] != owner:
            raise NotFound("nothing with this id was found")
        return [rows.to_stored_message(row) for row in found]

    async def rename(self, owner: str, conversation_id: str, title: str) -> Conversation:
        title = to_text(title)
        found = await self._pool.fetch(
            "UPDATE conversations SET title = $3, is_titled = true,"
            " terms = array_to_tsvector($4::text[])"
            " WHERE id = $1 AND owner = $2 AND deleted_ms IS NULL RETURNING *",
            conversation_id,
            owner,
            title,
            rows.to_lexemes(owner, title),
        )
        return rows.to_conversation(rows.require_row(found[0] if found else None))

    async def suggest_title(self, owner: str, conversation_id: str, title: str) -> bool:
        title = to_text(title)
        found = await self._pool.fetch(
            "UPDATE conversations SET title = $3, is_titled = true,"
            " terms = array_to_tsvector($4::text[])"
            " WHERE id = $1 AND owner = $2 AND deleted_ms IS NULL AND NOT is_titled RETURNING id",
            conversation_id,
            owner,
            title,
            rows.to_lexemes(owner, title),
        )
        return bool(found)

    async def annotate(
        self, owner: str, conversation_id: str, note: ConversationNote
    ) -> Conversation:
        async with self._pool.transaction() as connection:
            row = await rows.find_conversation(connection, owner, conversation_id, is_locked=True)
            for name, value in note.columns.items():
                row = await connection.fetchrow(
                    f"UPDATE conversations SET {name} = $2 WHERE id = $1 RETURNING *",
                    conversation_id,
                    to_text(value) if isinstance(value, str) else value,
                )
        return rows.to_conversation(row)

    async def select(self, owner: str, conversation_id: str, leaf_id: str) -> Conversation:
        async with self._pool.transaction() as connection:
            await rows.find_conversation(connection, owner, conversation_id, is_locked=True)
            await rows.find_message(connection, owner, leaf_id, conversation_id)
            row = await connection.fetchrow(
                "UPDATE conversations SET leaf_id = $2 WHERE id = $1 RETURNING *",
                conversation_id,
                leaf_id,
            )
        return rows.to_conversation(row)

    async def live_under(self, owner: str, conversation_id: str) -> list[RunRow]:
        found = await self._pool.fetch(
            "SELECT * FROM runs WHERE conversation_id = $1 AND owner = $2 AND state = 'live'"
            " ORDER BY created_ms, id",
            conversation_id,
            owner,
        )
        return [rows.to_run(row) for row in found]

    async def delete(self, owner: str, conversation_id: str) -> list[str]:
        async with self._pool.transaction() as connection:
            ids = await hide(connection, owner, conversation_id, int(time.time() * 1000))
        await delete_hidden(self._pool, conversation_id)
        return ids

    async def search(self, owner: str, words: str, limit: int = 50) -> list[SearchHit]:
        found = await find_conversations(self._pool, owner, words, limit)
        # In a thread: the messages may be long.
        return await asyncio.to_thread(lambda: [rows.to_hit(row, words) for row in found])


def _last_seq(live: Sequence[Batch], closing: Sequence[Record]) -> int | None:
    """Return the number of the last record that was stored, or None if there was nothing new."""
    if closing:
        return closing[-1].seq
    return live[-1].last_seq if live else None


async def _insert_answer(
    connection: Connection, run: RunRow, message: Message, body: bytes
) -> bool:
    """Insert the answer of a run. Return False if it is stored already."""
    if await connection.fetchval("SELECT 1 FROM messages WHERE run_id = $1", run.id):
        return False
    stored = StoredMessage(
        id=run.message_id,
        conversation_id=run.conversation_id,
        parent_id=run.parent_id,
        message=message,
    )
    at_ms = await rows.not_before_parent(connection, run.parent_id, message.created_at_ms)
    await rows.insert_message(connection, stored, run.owner, body, at_ms, run.id)
    await rows.touch(connection, run.conversation_id, run.message_id, at_ms, follows=run.parent_id)
    await rows.note_answer(connection, run.conversation_id, measure_use(message))
    return True
