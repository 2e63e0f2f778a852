"""Begins a run in the store: place in the message tree, user message, run, idempotency key."""

from __future__ import annotations

import sqlite3
from typing import Final

import msgspec

from headrace.messages import Message
from headrace.server.storage.store import row as tables
from headrace.server.storage.store.store import (
    KeyTaken,
    NotFound,
    RunLive,
    RunRow,
    RunStart,
    StartedRun,
    StoredMessage,
)

_TITLE_CHARS: Final = 60
_MAX_CUT_CHARS: Final = 20
_encode = msgspec.json.Encoder().encode


def find_repeated(connection: sqlite3.Connection, start: RunStart) -> StartedRun | None:
    """Return the run that the same idempotency key has begun, if any. Raises `KeyTaken`."""
    known = connection.execute(
        "SELECT * FROM runs WHERE owner = ? AND idempotency_key = ?",
        (start.owner, start.idempotency_key),
    ).fetchone()
    if known is None:
        return None
    if known["fingerprint"] != start.fingerprint:
        raise KeyTaken("this idempotency key was already used for another request")
    return StartedRun(run=tables.to_run(known), is_repeated=True)


def begin_run(connection: sqlite3.Connection, start: RunStart) -> StartedRun:
    """Insert the user message and the run. Raises `NotFound`, `RunLive` and `KeyTaken`."""
    known = find_repeated(connection, start)
    if known is not None:
        return known
    conversation_id, parent_id = _find_place(connection, start)
    if not start.is_branch:
        _check_no_live_run(connection, start.owner, conversation_id, parent_id)
    question_id = _insert_prompt(connection, start, conversation_id, parent_id)
    run = RunRow(
        id=start.run_id,
        owner=start.owner,
        conversation_id=conversation_id,
        parent_id=question_id,
        message_id=start.message_id,
        model=start.model,
        created_ms=start.now_ms,
        is_live=True,
        request=start.request,
    )
    _insert_run(connection, run, start)
    return StartedRun(run=run)


def _find_place(connection: sqlite3.Connection, start: RunStart) -> tuple[str, str | None]:
    """Return the conversation, created if it is new, and the message that the run follows."""
    if start.conversation_id is None or start.prompt is None:
        return _find_question(connection, start)
    if start.is_new and not _exists(connection, start):
        title = make_title(start, start.prompt)
        row = tables.index_title(connection, start.conversation_id, start.owner, title)
        connection.execute(
            "INSERT INTO conversations (id, owner, title, created_ms, updated_ms, title_row,"
            " instructions) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)",
            (start.conversation_id, start.owner, title, start.now_ms, row, start.instructions),
        )
        return start.conversation_id, None
    found = tables.find_conversation(connection, start.owner, start.conversation_id)
    if start.beside_id is not None:
        beside = tables.find_message(
            connection, start.owner, start.beside_id, start.conversation_id
        )
        return start.conversation_id, beside["parent_id"]
    if start.parent_id is None:
        return start.conversation_id, found["leaf_id"]
    tables.find_message(connection, start.owner, start.parent_id, start.conversation_id)
    return start.conversation_id, start.parent_id


def make_title(start: RunStart, prompt: StoredMessage) -> str:
    """Return the title of a new conversation: the beginning of the user's first message."""
    messages = [stored.message for stored in (*start.earlier, prompt)]
    first = next((message for message in messages if message.role == "user"), messages[-1])
    return _title_of(first)


def _exists(connection: sqlite3.Connection, start: RunStart) -> bool:
    """Return whether another request has created the conversation meanwhile: its id may be derived
    from a name that a client has chosen."""
    query = "SELECT 1 FROM conversations WHERE id = ? AND owner = ?"
    found = connection.execute(query, (start.conversation_id, start.owner))
    return found.fetchone() is not None


def _find_question(connection: sqlite3.Connection, start: RunStart) -> tuple[str, str | None]:
    """Return the conversation and the stored user message that is answered again."""
    row = tables.find_message(connection, start.owner, start.parent_id or "", start.conversation_id)
    if row["role"] != "user":
        raise NotFound("no user message with this id: only those can be answered again")
    return row["conversation_id"], row["id"]


def _check_no_live_run(
    connection: sqlite3.Connection, owner: str, conversation_id: str, parent_id: str | None
) -> None:
    """Raise `RunLive` if an answer to this message, or to a reply to it, is being written."""
    live = connection.execute(
        "SELECT runs.message_id FROM runs LEFT JOIN messages ON messages.id = runs.parent_id"
        " WHERE runs.conversation_id = ? AND runs.owner = ? AND runs.state = 'live'"
        " AND (runs.parent_id IS ? OR messages.parent_id IS ?)",
        (conversation_id, owner, parent_id, parent_id),
    ).fetchone()
    if live is not None:
        raise RunLive(live["message_id"])


def _insert_prompt(
    connection: sqlite3.Connection, start: RunStart, conversation_id: str, parent_id: str | None
) -> str:
    """Insert the new messages, if there are any; return the id of the one to answer."""
    prompt = start.prompt
    if prompt is None:
        assert parent_id is not None
        tables.touch(connection, conversation_id, parent_id, start.now_ms)
        return parent_id
    for stored in (*start.earlier, prompt):
        _insert_message(connection, start, stored, conversation_id, parent_id)
        parent_id = stored.id
    tables.touch(connection, conversation_id, prompt.id, start.now_ms)
    return prompt.id


def _insert_message(
    connection: sqlite3.Connection,
    start: RunStart,
    stored: StoredMessage,
    conversation_id: str,
    parent_id: str | None,
) -> None:
    message, owner = stored.message, start.owner
    row = tables.index_words(connection, conversation_id, owner, message.text)
    place = (stored.id, conversation_id, owner, parent_id)
    now_ms = tables.not_before_parent(connection, parent_id, start.now_ms)
    connection.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, NULL, ?, ?, ?, ?)",
        (*place, message.role, now_ms, _encode(message), row),
    )


def _insert_run(connection: sqlite3.Connection, run: RunRow, start: RunStart) -> None:
    connection.execute(
        "INSERT INTO runs (id, owner, conversation_id, parent_id, message_id, model, created_ms,"
        " idempotency_key, fingerprint, request, log_version) VALUES (:id, :owner,"
        " :conversation_id, :parent_id, :message_id, :model, :created_ms, :key, :fingerprint,"
        " :request, :log_version)",
        {
            **msgspec.structs.asdict(run),
            "key": start.idempotency_key,
            "fingerprint": start.fingerprint,
        },
    )


def _title_of(message: Message) -> str:
    """Return the beginning of the question, cut at a word."""
    text = " ".join(message.text.split())
    if len(text) <= _TITLE_CHARS:
        return text
    head, _, cut_word = text[:_TITLE_CHARS].rpartition(" ")
    # Chinese and Japanese have no spaces; a long word is cut rather than dropped, too.
    if len(cut_word) > _MAX_CUT_CHARS:
        return text[: _TITLE_CHARS - 1] + "…"
    return head + " …"
