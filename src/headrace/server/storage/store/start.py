"""How a run begins in the store: its place in the tree, the user's message, the run and its key."""

from __future__ import annotations

import sqlite3
from typing import Final

import msgspec

from headrace.messages import Message
from headrace.server.storage.store.row import (
    find,
    find_message,
    index_title,
    index_words,
    run_of,
    touch,
)
from headrace.server.storage.store.store import Begun, KeyTaken, NotFound, RunLive, RunRow, Start

_TITLE_CHARS: Final = 60
_encode = msgspec.json.Encoder().encode


def repeated(connection: sqlite3.Connection, start: Start) -> Begun | None:
    known = connection.execute(
        "SELECT * FROM runs WHERE owner = ? AND idempotency_key = ?",
        (start.owner, start.idempotency_key),
    ).fetchone()
    if known is None:
        return None
    if known["fingerprint"] != start.fingerprint:
        raise KeyTaken("the idempotency key was used for another request")
    return Begun(run=run_of(known), is_repeated=True)


def begin(connection: sqlite3.Connection, start: Start) -> Begun:
    known = repeated(connection, start)
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
        row = index_title(connection, start.conversation_id, start.owner, title)
        connection.execute(
            "INSERT INTO conversations (id, owner, title, created_ms, updated_ms, title_row)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (start.conversation_id, start.owner, title, start.now_ms, start.now_ms, row),
        )
        return start.conversation_id, None
    found = find(connection, start.owner, start.conversation_id)
    if start.beside_id is not None:
        beside = find_message(connection, start.owner, start.beside_id, start.conversation_id)
        return start.conversation_id, beside["parent_id"]
    if start.parent_id is None:
        return start.conversation_id, found["leaf_id"]
    find_message(connection, start.owner, start.parent_id, start.conversation_id)
    return start.conversation_id, start.parent_id


def _place_of_old(connection: sqlite3.Connection, start: Start) -> tuple[str, str | None]:
    """A message that is there is answered again."""
    row = find_message(connection, start.owner, start.parent_id or "", start.conversation_id)
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
        touch(connection, conversation_id, parent_id, start.now_ms)
        return parent_id
    text = prompt.message.text
    row = index_words(connection, prompt.id, conversation_id, start.owner, text)
    connection.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, NULL, ?, ?, ?, ?)",
        (
            prompt.id,
            conversation_id,
            start.owner,
            parent_id,
            prompt.message.role,
            start.now_ms,
            _encode(prompt.message),
            row,
        ),
    )
    touch(connection, conversation_id, prompt.id, start.now_ms)
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


def _title_of(message: Message) -> str:
    """The beginning of what was asked, cut at a word."""
    text = " ".join(message.text.split())
    if len(text) <= _TITLE_CHARS:
        return text
    return text[:_TITLE_CHARS].rpartition(" ")[0] + " …"
