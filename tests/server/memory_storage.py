"""A log and a store in memory: a second implementation of both interfaces, for the tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from headrace.events import Record, RunClosed, encode_record
from headrace.messages import Message
from headrace.server.api import select_branch
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log import Done
from headrace.server.storage.snippet import cut_snippet
from headrace.server.storage.store import (
    Conversation,
    ConversationNote,
    InboxEntry,
    KeyTaken,
    MessagePage,
    MessageQuery,
    NotFound,
    PageCursor,
    RunLive,
    RunRow,
    RunStart,
    SearchHit,
    StartedRun,
    StoredMessage,
)
from headrace.server.storage.store.store import NEWEST, measure_use


class MemoryLog:
    """Records of all runs in a dictionary."""

    def __init__(self) -> None:
        self.runs: dict[str, list[Record]] = {}

    def append_now(self, run_id: str, records: Sequence[Record]) -> None:
        kept = list(self.runs.get(run_id, ()))
        for record in records:
            is_closed = bool(kept) and isinstance(kept[-1].event, RunClosed)
            if is_closed or record.seq != len(kept) + 1:
                raise StorageFailed(f"record {record.seq} of run {run_id} cannot follow")
            kept.append(record)
        self.runs[run_id] = kept

    async def append(self, run_id: str, records: Sequence[Record], epoch: int = 0) -> None:
        self.append_now(run_id, records)

    def tail(self, run_id: str, epoch: int = 0) -> MemoryTail:
        return MemoryTail(self, run_id)

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        found: list[Record] = []
        size = 0
        for record in self.runs.get(run_id, ())[after:]:
            found.append(record)
            size += len(encode_record(record))
            if max_bytes is not None and size >= max_bytes:
                break
        return found

    async def delete(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            self.runs.pop(run_id, None)


class MemoryTail:
    """The end of one run's log."""

    def __init__(self, log: MemoryLog, run_id: str) -> None:
        self._log = log
        self._run_id = run_id

    def put(self, records: Sequence[Record], done: Done) -> None:
        error: Exception | None = None
        try:
            self._log.append_now(self._run_id, records)
        except StorageFailed as raised:
            error = raised
        asyncio.get_running_loop().call_soon(done, error)


class MemoryStore:
    """Conversations, messages and runs in dictionaries."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self.message_writes = 0
        self._titled: set[str] = set()
        self._owners: dict[str, str] = {}
        self._conversations: dict[str, Conversation] = {}
        self._messages: dict[str, StoredMessage] = {}
        self._runs: dict[str, RunRow] = {}
        self._keys: dict[tuple[str, str], tuple[str, str]] = {}
        self._closed_ms: dict[str, int] = {}
        self._expires_ms: dict[str, int] = {}
        self._entries: dict[str, InboxEntry] = {}
        self._taken: set[str] = set()

    # -- runs

    async def begin(self, start: RunStart) -> StartedRun:
        known = await self.find_repeated(start)
        if known is not None:
            return known
        conversation_id, parent_id = self._find_place(start)
        if not start.is_branch:
            self._check_no_live_run(conversation_id, parent_id)
        prompt = start.prompt
        is_new = start.is_new and conversation_id not in self._conversations
        if is_new and prompt is not None:
            messages = [stored.message for stored in (*start.earlier, prompt)]
            first = next((one for one in messages if one.role == "user"), messages[-1])
            title = " ".join(first.text.split())
            title = title if len(title) <= 60 else title[:60].rpartition(" ")[0] + " …"
            self._owners[conversation_id] = start.owner
            self._conversations[conversation_id] = Conversation(
                id=conversation_id,
                title=title,
                created_ms=start.now_ms,
                updated_ms=start.now_ms,
                instructions=start.instructions,
            )
        for stored in (*start.earlier, prompt):
            if stored is not None:
                self._messages[stored.id] = msgspec.structs.replace(
                    stored, conversation_id=conversation_id, parent_id=parent_id
                )
                parent_id = stored.id
        assert parent_id is not None
        self._touch(conversation_id, parent_id, start.now_ms)
        run = RunRow(
            id=start.run_id,
            owner=start.owner,
            conversation_id=conversation_id,
            parent_id=parent_id,
            message_id=start.message_id,
            model=start.model,
            created_ms=start.now_ms,
            is_live=True,
            request=start.request,
        )
        self._runs[run.id] = run
        if start.idempotency_key is not None:
            self._keys[start.owner, start.idempotency_key] = (start.fingerprint, run.id)
        return StartedRun(run=run)

    async def find_repeated(self, start: RunStart) -> StartedRun | None:
        known = self._keys.get((start.owner, start.idempotency_key or ""))
        if known is None:
            return None
        if known[0] != start.fingerprint:
            raise KeyTaken("this idempotency key was already used for another request")
        return StartedRun(run=self._runs[known[1]], is_repeated=True)

    async def commit(self, run: RunRow, message: Message, closing: Sequence[Record]) -> None:
        self._log.append_now(run.id, closing)
        if run.message_id not in self._messages:
            self._messages[run.message_id] = StoredMessage(
                id=run.message_id,
                conversation_id=run.conversation_id,
                parent_id=run.parent_id,
                message=message,
            )
            leaf_id = self._conversations[run.conversation_id].leaf_id
            is_followed = leaf_id == run.parent_id
            new_leaf = run.message_id if is_followed else leaf_id
            self._touch(run.conversation_id, new_leaf, message.created_at_ms)
            self._note_answer(run.conversation_id, message)
            self.message_writes += 1
        self._runs[run.id] = msgspec.structs.replace(self._runs[run.id], is_live=False)
        self._closed_ms[run.id] = closing[-1].at_ms if closing else message.created_at_ms

    async def is_committed(self, run: RunRow) -> bool:
        return run.message_id in self._messages

    async def run(self, owner: str, message_id: str) -> RunRow:
        for run in self._runs.values():
            if (run.owner, run.message_id) == (owner, message_id):
                return run
        raise NotFound("nothing with this id was found")

    async def live_runs(self) -> list[RunRow]:
        return [run for run in self._runs.values() if run.is_live and not run.is_suspended]

    async def find_run(self, owner: str, run_id: str) -> RunRow:
        run = self._runs.get(run_id)
        if run is None or run.owner != owner:
            raise NotFound("nothing with this id was found")
        return run

    async def open_runs(self, owner: str, limit: int) -> list[RunRow]:
        runs = [run for run in self._runs.values() if run.is_live and run.owner == owner]
        return sorted(runs, key=lambda run: run.created_ms)[:limit]

    # -- suspended runs and their inbox

    async def suspend(
        self,
        run: RunRow,
        now_ms: int,
        expires_ms: int | None,
        *,
        even_with_input: bool = False,
    ) -> bool:
        if not even_with_input and any(
            entry.kind in ("answer", "cancel") for entry in await self.open_entries(run.id)
        ):
            return False
        self._runs[run.id] = msgspec.structs.replace(self._runs[run.id], is_suspended=True)
        if expires_ms is not None:
            self._expires_ms[run.id] = expires_ms
        return True

    async def claim(self, run: RunRow, *, even_if_live: bool = False) -> int | None:
        found = self._runs[run.id]
        if not found.is_live or not (found.is_suspended or even_if_live):
            return None
        self._expires_ms.pop(run.id, None)
        epoch = found.epoch + 1
        self._runs[run.id] = msgspec.structs.replace(found, is_suspended=False, epoch=epoch)
        return epoch

    async def expired_runs(self, before_ms: int, limit: int, skip: int = 0) -> list[RunRow]:
        times = sorted(self._expires_ms.items(), key=lambda item: item[1])
        ids = [run_id for run_id, at_ms in times if at_ms < before_ms]
        return [self._runs[run_id] for run_id in ids[skip : skip + limit]]

    async def runs_with_entries(self) -> list[RunRow]:
        ids = {entry.run_id for entry in self._entries.values() if entry.id not in self._taken}
        runs = [self._runs[run_id] for run_id in ids]
        return [run for run in runs if run.is_suspended or not run.is_live]

    async def add_entry(self, entry: InboxEntry) -> InboxEntry:
        for known in self._entries.values():
            is_answer = entry.request_id is not None and entry.request_id == known.request_id
            if known.id == entry.id or (is_answer and known.run_id == entry.run_id):
                return known
        self._entries[entry.id] = entry
        return entry

    async def find_entry(self, entry_id: str) -> InboxEntry | None:
        return self._entries.get(entry_id)

    async def open_entries(self, run_id: str) -> list[InboxEntry]:
        entries = self._entries.values()
        return [e for e in entries if e.run_id == run_id and e.id not in self._taken]

    async def take_entries(self, entry_ids: Sequence[str]) -> None:
        self._taken.update(entry_ids)

    async def move_entries(self, run_id: str, next_run_id: str) -> None:
        for entry in await self.open_entries(run_id):
            self._entries[entry.id] = msgspec.structs.replace(entry, run_id=next_run_id)

    async def closed_runs(self, before_ms: int) -> list[str]:
        return [run_id for run_id, at_ms in self._closed_ms.items() if at_ms < before_ms]

    async def mark_expired(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            self._closed_ms.pop(run_id, None)

    # -- conversations

    async def conversations(
        self, owner: str, limit: int = 100, before: PageCursor | None = None
    ) -> list[Conversation]:
        found = [one for one in self._conversations.values() if self._owners[one.id] == owner]
        found.sort(key=lambda one: (-one.updated_ms, one.id))
        if before is not None:
            place = (-before.updated_ms, before.id)
            found = [one for one in found if (-one.updated_ms, one.id) > place]
        return found[:limit]

    async def conversation(self, owner: str, conversation_id: str) -> Conversation:
        if self._owners.get(conversation_id) != owner:
            raise NotFound("nothing with this id was found")
        return self._conversations[conversation_id]

    async def messages(
        self, owner: str, conversation_id: str, query: MessageQuery = NEWEST
    ) -> MessagePage:
        found = await self._all_messages(owner, conversation_id)
        ids = [one.id for one in found]
        if not {query.before or None, query.after or None} - {None} <= set(ids):
            raise NotFound("nothing with this id was found")
        if query.after is not None:
            found = found[ids.index(query.after) + 1 :] if query.after else found
        else:
            found = (found[: ids.index(query.before)] if query.before else found)[::-1]
        count, size = 0, 0
        for one in found[: query.limit]:
            size += len(msgspec.json.encode(one.message))
            if count and size > query.max_bytes:
                break
            count += 1
        page = found[:count] if query.after is not None else found[:count][::-1]
        return MessagePage(messages=page, has_more=len(found) > count)

    async def message_bytes(
        self, owner: str, conversation_id: str, query: MessageQuery = NEWEST
    ) -> int:
        page = await self.messages(owner, conversation_id, query)
        return sum(len(msgspec.json.encode(one.message)) for one in page.messages)

    async def branch_ids(self, owner: str, message_id: str) -> list[str]:
        return [one.id for one in await self.branch(owner, message_id)]

    async def _all_messages(self, owner: str, conversation_id: str) -> list[StoredMessage]:
        await self.conversation(owner, conversation_id)
        found = [one for one in self._messages.values() if one.conversation_id == conversation_id]
        # A message is never listed before the one that it follows, whatever the clock says.
        times: dict[str | None, int] = {}
        for one in found:
            times[one.id] = max(one.message.created_at_ms, times.get(one.parent_id, 0))
        return sorted(found, key=lambda one: times[one.id])

    async def branch(self, owner: str, message_id: str) -> list[StoredMessage]:
        self._find_message(owner, message_id)
        return select_branch(self._messages.values(), message_id)

    async def rename(self, owner: str, conversation_id: str, title: str) -> Conversation:
        self._titled.add(conversation_id)
        return await self._replace(owner, conversation_id, title=title)

    async def suggest_title(self, owner: str, conversation_id: str, title: str) -> bool:
        if self._owners.get(conversation_id) != owner or conversation_id in self._titled:
            return False
        await self.rename(owner, conversation_id, title)
        return True

    async def annotate(
        self, owner: str, conversation_id: str, note: ConversationNote
    ) -> Conversation:
        return await self._replace(owner, conversation_id, **note.columns)

    async def pinned(self, owner: str, limit: int = 100) -> list[Conversation]:
        found = await self.conversations(owner, limit=10_000)
        return [one for one in found if one.is_pinned][:limit]

    async def select(self, owner: str, conversation_id: str, leaf_id: str) -> Conversation:
        self._find_message(owner, leaf_id, conversation_id)
        return await self._replace(owner, conversation_id, leaf_id=leaf_id)

    async def live_under(self, owner: str, conversation_id: str) -> list[RunRow]:
        return [
            run
            for run in self._runs.values()
            if run.is_live and (run.owner, run.conversation_id) == (owner, conversation_id)
        ]

    async def delete(self, owner: str, conversation_id: str) -> list[str]:
        await self.conversation(owner, conversation_id)
        runs = [run for run in self._runs.values() if run.conversation_id == conversation_id]
        for run in runs:
            if run.is_live:
                raise RunLive(run.message_id)
        for run in runs:
            del self._runs[run.id]
            self._closed_ms.pop(run.id, None)
            self._keys = {key: value for key, value in self._keys.items() if value[1] != run.id}
        await self._log.delete([run.id for run in runs])
        for message in await self._all_messages(owner, conversation_id):
            del self._messages[message.id]
        del self._conversations[conversation_id], self._owners[conversation_id]
        return [run.id for run in runs]

    async def search(self, owner: str, words: str, limit: int = 50) -> list[SearchHit]:
        wanted = words.lower().split()
        if not wanted:
            return []
        found = []
        for one in await self.conversations(owner, limit=10_000):
            stored = await self._all_messages(owner, one.id)
            texts = [one.title, *(message.message.text for message in stored)]
            ranks = [
                rank for rank, text in enumerate(texts) if all(w in text.lower() for w in wanted)
            ]
            if ranks:
                found.append((ranks[0] > 0, _to_hit(one, stored, ranks[-1], words)))
        return [one for _, one in sorted(found, key=lambda row: row[0])][:limit]

    # -- inside

    def _note_answer(self, conversation_id: str, message: Message) -> None:
        one, use = self._conversations[conversation_id], measure_use(message)
        self._conversations[conversation_id] = msgspec.structs.replace(
            one,
            is_unread=True,
            context_tokens=one.context_tokens if use.context_tokens is None else use.context_tokens,
            total_tokens=_add(one.total_tokens, use.tokens),
            cost=_add(one.cost, use.cost),
        )

    def _find_place(self, start: RunStart) -> tuple[str, str | None]:
        if start.prompt is None or start.conversation_id is None:
            question = self._find_message(start.owner, start.parent_id or "", start.conversation_id)
            if question.message.role != "user":
                raise NotFound("no user message with this id")
            return question.conversation_id, question.id
        if start.is_new and start.conversation_id not in self._conversations:
            return start.conversation_id, None
        if self._owners.get(start.conversation_id) != start.owner:
            raise NotFound("nothing with this id was found")
        if start.beside_id is not None:
            beside = self._find_message(start.owner, start.beside_id, start.conversation_id)
            return start.conversation_id, beside.parent_id
        if start.parent_id is None:
            return start.conversation_id, self._conversations[start.conversation_id].leaf_id
        self._find_message(start.owner, start.parent_id, start.conversation_id)
        return start.conversation_id, start.parent_id

    def _check_no_live_run(self, conversation_id: str, parent_id: str | None) -> None:
        for run in self._runs.values():
            if not run.is_live or run.conversation_id != conversation_id:
                continue
            if parent_id in (run.parent_id, self._messages[run.parent_id].parent_id):
                raise RunLive(run.message_id)

    def _find_message(
        self, owner: str, message_id: str, conversation_id: str | None = None
    ) -> StoredMessage:
        message = self._messages.get(message_id)
        if message is None or self._owners[message.conversation_id] != owner:
            raise NotFound("nothing with this id was found")
        if conversation_id not in (None, message.conversation_id):
            raise NotFound("nothing with this id was found")
        return message

    def _touch(self, conversation_id: str, leaf_id: str | None, at_ms: int) -> None:
        conversation = self._conversations[conversation_id]
        self._conversations[conversation_id] = msgspec.structs.replace(
            conversation, leaf_id=leaf_id, updated_ms=max(conversation.updated_ms, at_ms)
        )

    async def _replace(self, owner: str, conversation_id: str, **changes: Any) -> Conversation:
        conversation = await self.conversation(owner, conversation_id)
        replaced = msgspec.structs.replace(conversation, **changes)
        self._conversations[conversation_id] = replaced
        return replaced


def _to_hit(one: Conversation, stored: list[StoredMessage], rank: int, words: str) -> SearchHit:
    if rank == 0:
        return SearchHit(conversation=one)
    found = stored[rank - 1]
    snippet = cut_snippet(found.message.text, words)
    return SearchHit(conversation=one, message_id=found.id, snippet=snippet)


def _add(before: Any, more: Any) -> Any:
    return before if more is None else more + (before or 0)
