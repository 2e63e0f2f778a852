"""The tables of the database, version by version. A released version is never changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.errors import UsageError
from headrace.server.storage.sqlite.database_file import APPLICATION_ID
from headrace.server.storage.sqlite.record_table import create_record_tables
from headrace.server.storage.sqlite.search_index import create_index
from headrace.server.storage.usage.stored_bytes import count_requests, create_sums
from headrace.server.storage.usage.usage_table import create_usage_table

Step: TypeAlias = str | Callable[[sqlite3.Connection], None]
"""SQL statements, or a function for what SQL cannot do."""

MIGRATIONS: Final[tuple[Step, ...]] = (
    """
    CREATE TABLE records (
        id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        body BLOB NOT NULL
    );
    CREATE UNIQUE INDEX records_of ON records (run_id, seq);

    CREATE TABLE conversations (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        title TEXT NOT NULL DEFAULT '',
        is_titled INTEGER NOT NULL DEFAULT 0,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        leaf_id TEXT
    );
    CREATE INDEX conversations_of ON conversations (owner, updated_ms DESC);

    CREATE TABLE messages (
        id TEXT PRIMARY KEY,
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        owner TEXT NOT NULL,
        parent_id TEXT,
        run_id TEXT UNIQUE,
        role TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        body BLOB NOT NULL
    );
    CREATE INDEX messages_of ON messages (conversation_id, created_ms);

    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        parent_id TEXT NOT NULL,
        message_id TEXT NOT NULL UNIQUE,
        model TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'closed')),
        created_ms INTEGER NOT NULL,
        closed_ms INTEGER,
        idempotency_key TEXT,
        fingerprint TEXT NOT NULL,
        UNIQUE (owner, idempotency_key)
    );
    CREATE INDEX live_runs ON runs (state) WHERE state = 'live';

    CREATE TABLE tokens (
        hash BLOB PRIMARY KEY,
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        created_ms INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE VIRTUAL TABLE words USING fts5 (
        text, message_id UNINDEXED, conversation_id UNINDEXED, owner UNINDEXED
    );
    """,
    """
    CREATE VIRTUAL TABLE titles USING fts5 (text, conversation_id UNINDEXED, owner UNINDEXED);
    INSERT INTO titles (text, conversation_id, owner) SELECT title, id, owner FROM conversations;
    """,
    # A row of a full-text index can only be found quickly by its rowid, so that is stored.
    # `UPDATE … FROM` would need SQLite 3.33.
    """
    ALTER TABLE conversations ADD COLUMN title_row INTEGER;
    ALTER TABLE messages ADD COLUMN words_row INTEGER;
    CREATE TEMP TABLE places (id TEXT PRIMARY KEY, place INTEGER);
    INSERT OR REPLACE INTO temp.places SELECT conversation_id, rowid FROM titles;
    UPDATE conversations SET title_row = (SELECT place FROM places WHERE id = conversations.id);
    DELETE FROM temp.places;
    INSERT OR REPLACE INTO temp.places SELECT message_id, rowid FROM words;
    UPDATE messages SET words_row = (SELECT place FROM places WHERE id = messages.id);
    DROP TABLE temp.places;

    CREATE INDEX runs_of ON runs (conversation_id);
    ALTER TABLE runs ADD COLUMN is_logged INTEGER NOT NULL DEFAULT 1;
    UPDATE runs SET is_logged = 0
        WHERE state = 'closed' AND NOT EXISTS (SELECT 1 FROM records WHERE run_id = runs.id);
    CREATE INDEX logged_runs ON runs (closed_ms) WHERE is_logged = 1 AND closed_ms IS NOT NULL;
    """,
    create_record_tables,
    create_index,
    f"""
    ALTER TABLE conversations ADD COLUMN deleted_ms INTEGER;
    CREATE TABLE health (id INTEGER PRIMARY KEY, checked_ms INTEGER NOT NULL);
    PRAGMA application_id = {APPLICATION_ID};
    """,
    create_sums,
    "ALTER TABLE tokens ADD COLUMN scope TEXT NOT NULL DEFAULT 'chat'",
    # Runs that wait for input, and what clients send to runs.
    """
    ALTER TABLE runs ADD COLUMN suspended_ms INTEGER;
    ALTER TABLE runs ADD COLUMN expires_ms INTEGER;
    ALTER TABLE runs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN log_version INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE runs ADD COLUMN request TEXT;
    DROP INDEX live_runs;
    CREATE INDEX live_runs ON runs (created_ms) WHERE state = 'live' AND suspended_ms IS NULL;
    CREATE INDEX expiring_runs ON runs (expires_ms)
        WHERE suspended_ms IS NOT NULL AND expires_ms IS NOT NULL;
    CREATE TABLE inbox (
        id TEXT PRIMARY KEY,
        run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        request_id TEXT,
        body BLOB NOT NULL,
        created_ms INTEGER NOT NULL,
        is_taken INTEGER NOT NULL DEFAULT 0,
        UNIQUE (run_id, request_id)
    );
    CREATE INDEX open_inbox ON inbox (run_id) WHERE is_taken = 0
    """,
    create_usage_table,
    "CREATE TABLE server_keys (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
    # People who sign in, and what they have set. Times of access tokens.
    """
    CREATE TABLE users (
        name TEXT PRIMARY KEY,
        role TEXT NOT NULL,
        password_hash TEXT NOT NULL,
        is_disabled INTEGER NOT NULL DEFAULT 0,
        created_ms INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE sign_ins (
        hash BLOB PRIMARY KEY,
        owner TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
        created_ms INTEGER NOT NULL,
        last_used_ms INTEGER NOT NULL,
        client TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX sign_ins_of ON sign_ins (owner);
    CREATE TABLE user_settings (owner TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE user_deletions (
        owner TEXT PRIMARY KEY,
        requested_ms INTEGER NOT NULL,
        is_emptied INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX conversations_by_age ON conversations (updated_ms) WHERE deleted_ms IS NULL;
    ALTER TABLE tokens ADD COLUMN expires_ms INTEGER;
    ALTER TABLE tokens ADD COLUMN last_used_ms INTEGER
    """,
    # Pins, unread marks, instructions and usage of conversations; an index from a row of the word
    # index to its message.
    """
    ALTER TABLE conversations ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE conversations ADD COLUMN is_unread INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE conversations ADD COLUMN instructions TEXT;
    ALTER TABLE conversations ADD COLUMN context_tokens INTEGER;
    ALTER TABLE conversations ADD COLUMN total_tokens INTEGER;
    ALTER TABLE conversations ADD COLUMN cost REAL;
    CREATE INDEX pinned_conversations ON conversations (owner, updated_ms DESC) WHERE is_pinned = 1;
    CREATE INDEX messages_by_words ON messages (words_row)
    """,
    count_requests,
    # Limits of access tokens.
    "ALTER TABLE tokens ADD COLUMN quota TEXT",
)


def migrate(connection: sqlite3.Connection) -> None:
    """Update the tables to the newest version.

    Raises `UsageError` if a newer release of Headrace has written the file.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise UsageError(
            f"the data has version {version}, but this Headrace knows only version"
            f" {len(MIGRATIONS)}: update Headrace"
        )
    for number, step in enumerate(MIGRATIONS[version:], version + 1):
        if isinstance(step, str):
            _execute_script(connection, step)
        else:
            step(connection)
        connection.execute(f"PRAGMA user_version = {number}")


def _execute_script(connection: sqlite3.Connection, script: str) -> None:
    """Execute statements one by one: `executescript()` would commit the transaction first."""
    for statement in script.split(";"):
        if statement.strip():
            connection.execute(statement)
