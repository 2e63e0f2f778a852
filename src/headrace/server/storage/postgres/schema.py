"""The tables in PostgreSQL, version by version. A released version is never changed."""

from __future__ import annotations

from typing import Final

from headrace.errors import UsageError
from headrace.server.storage.postgres.pool import Pool

# Any number that nothing else in the database locks: servers that start at the same time create
# the tables one after another.
_LOCK: Final = 0x4865616472616365 >> 1

MIGRATIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE nodes (
        id text PRIMARY KEY,
        renewed_at timestamptz NOT NULL,
        lease interval NOT NULL
    );

    CREATE TABLE conversations (
        id text PRIMARY KEY,
        owner text NOT NULL,
        title text NOT NULL DEFAULT '',
        is_titled boolean NOT NULL DEFAULT false,
        created_ms bigint NOT NULL,
        updated_ms bigint NOT NULL,
        leaf_id text,
        deleted_ms bigint,
        terms tsvector
    );
    CREATE INDEX conversations_of ON conversations (owner, updated_ms DESC, id)
        WHERE deleted_ms IS NULL;
    CREATE INDEX hidden_conversations ON conversations (id) WHERE deleted_ms IS NOT NULL;
    CREATE INDEX title_terms ON conversations USING gin (terms);

    CREATE TABLE messages (
        id text PRIMARY KEY,
        place bigint GENERATED ALWAYS AS IDENTITY,
        conversation_id text NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        owner text NOT NULL,
        parent_id text,
        run_id text UNIQUE,
        role text NOT NULL,
        created_ms bigint NOT NULL,
        body bytea NOT NULL,
        size integer GENERATED ALWAYS AS (length(body)) STORED,
        terms tsvector
    );
    CREATE INDEX messages_of ON messages (conversation_id, created_ms, place);
    CREATE INDEX message_terms ON messages USING gin (terms);

    CREATE TABLE runs (
        id text PRIMARY KEY,
        owner text NOT NULL,
        conversation_id text NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        parent_id text NOT NULL,
        message_id text NOT NULL UNIQUE,
        model text NOT NULL,
        state text NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'closed')),
        holder text,
        epoch integer NOT NULL DEFAULT 0,
        log_version integer NOT NULL DEFAULT 1,
        created_ms bigint NOT NULL,
        closed_ms bigint,
        suspended_ms bigint,
        expires_ms bigint,
        idempotency_key text,
        fingerprint text NOT NULL,
        request text,
        is_logged boolean NOT NULL DEFAULT true,
        UNIQUE (owner, idempotency_key)
    );
    CREATE INDEX runs_of ON runs (conversation_id);
    CREATE INDEX live_runs ON runs (holder) WHERE state = 'live' AND suspended_ms IS NULL;
    CREATE INDEX expiring_runs ON runs (expires_ms)
        WHERE suspended_ms IS NOT NULL AND expires_ms IS NOT NULL;
    CREATE INDEX logged_runs ON runs (closed_ms) WHERE is_logged AND closed_ms IS NOT NULL;

    CREATE TABLE inbox (
        place bigint GENERATED ALWAYS AS IDENTITY,
        id text PRIMARY KEY,
        run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        kind text NOT NULL,
        request_id text,
        body bytea NOT NULL,
        created_ms bigint NOT NULL,
        is_taken boolean NOT NULL DEFAULT false,
        UNIQUE (run_id, request_id)
    );
    CREATE INDEX open_inbox ON inbox (run_id) WHERE NOT is_taken;

    -- One row for each run: where its log ends, and who may append to it.
    CREATE TABLE log_heads (
        run_id text PRIMARY KEY,
        last_seq bigint NOT NULL DEFAULT 0,
        epoch integer NOT NULL DEFAULT 0,
        is_closed boolean NOT NULL DEFAULT false,
        watched_until timestamptz
    ) WITH (fillfactor = 50);
    CREATE TABLE log_chunks (
        run_id text NOT NULL REFERENCES log_heads (run_id) ON DELETE CASCADE,
        first_seq bigint NOT NULL,
        last_seq bigint NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (run_id, first_seq)
    );

    CREATE TABLE stored_bytes (owner text PRIMARY KEY, bytes bigint NOT NULL);
    CREATE TABLE tokens (
        hash bytea PRIMARY KEY,
        owner text NOT NULL,
        name text NOT NULL,
        created_ms bigint NOT NULL,
        scope text NOT NULL DEFAULT 'chat'
    );
    CREATE TABLE usage_rows (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        owner text NOT NULL, door text NOT NULL, name text NOT NULL, model text NOT NULL,
        started_ms bigint NOT NULL, ended_ms bigint NOT NULL, outcome text NOT NULL,
        input_tokens bigint, cached_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
        cost double precision, is_estimated boolean NOT NULL
    );
    CREATE INDEX usage_by_owner ON usage_rows (owner, ended_ms);
    CREATE TABLE usage_windows (
        owner text NOT NULL,
        period text NOT NULL,
        requests bigint NOT NULL DEFAULT 0,
        tokens bigint NOT NULL DEFAULT 0,
        cost double precision NOT NULL DEFAULT 0,
        PRIMARY KEY (owner, period)
    );
    CREATE TABLE server_keys (name text PRIMARY KEY, value bytea NOT NULL);

    -- Uploads that are not yet part of a message.
    CREATE TABLE files (
        id text PRIMARY KEY,
        owner text NOT NULL,
        info bytea NOT NULL,
        size bigint NOT NULL,
        created_ms bigint NOT NULL
    );
    CREATE INDEX files_of ON files (owner);
    CREATE TABLE file_chunks (
        file_id text NOT NULL REFERENCES files (id) ON DELETE CASCADE,
        place integer NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (file_id, place)
    );
    """,
    # Terms of searches begin with the term of their owner. Common words are found from the newest
    # text on, others by the index of terms.
    """
    CREATE FUNCTION pg_temp.with_owner(terms tsvector) RETURNS tsvector LANGUAGE sql AS $$
        SELECT array_to_tsvector(coalesce(array_agg(owner.term || word.term), '{}'))
        FROM unnest(tsvector_to_array(terms)) AS word (term),
            unnest(tsvector_to_array(terms)) AS owner (term)
        WHERE owner.term LIKE U&'\\E000%' AND word.term NOT LIKE U&'\\E000%'
    $$;
    UPDATE conversations SET terms = pg_temp.with_owner(terms) WHERE terms IS NOT NULL;
    UPDATE messages SET terms = pg_temp.with_owner(terms) WHERE terms IS NOT NULL;
    CREATE INDEX titles_of ON conversations (owner, created_ms DESC);
    CREATE INDEX texts_of ON messages (owner, place DESC);
    """,
    # People who sign in, and what they have set. Times of access tokens.
    """
    CREATE TABLE users (
        name text PRIMARY KEY,
        role text NOT NULL,
        password_hash text NOT NULL,
        is_disabled boolean NOT NULL DEFAULT false,
        created_ms bigint NOT NULL
    );
    CREATE TABLE sign_ins (
        hash bytea PRIMARY KEY,
        owner text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
        created_ms bigint NOT NULL,
        last_used_ms bigint NOT NULL,
        client text NOT NULL
    );
    CREATE INDEX sign_ins_of ON sign_ins (owner);
    CREATE TABLE user_settings (owner text PRIMARY KEY, body text NOT NULL);
    CREATE TABLE user_deletions (
        owner text PRIMARY KEY,
        requested_ms bigint NOT NULL,
        is_emptied boolean NOT NULL DEFAULT false
    );
    CREATE INDEX conversations_by_age ON conversations (updated_ms) WHERE deleted_ms IS NULL;
    ALTER TABLE tokens ADD COLUMN expires_ms bigint;
    ALTER TABLE tokens ADD COLUMN last_used_ms bigint;
    """,
    # Pins, unread marks, instructions and usage of conversations.
    """
    ALTER TABLE conversations ADD COLUMN is_pinned boolean NOT NULL DEFAULT false;
    ALTER TABLE conversations ADD COLUMN is_unread boolean NOT NULL DEFAULT false;
    ALTER TABLE conversations ADD COLUMN instructions text;
    ALTER TABLE conversations ADD COLUMN context_tokens bigint;
    ALTER TABLE conversations ADD COLUMN total_tokens bigint;
    ALTER TABLE conversations ADD COLUMN cost double precision;
    CREATE INDEX pinned_conversations ON conversations (owner, updated_ms DESC) WHERE is_pinned;
    """,
    # What runs keep of their requests counts as stored too.
    """
    INSERT INTO stored_bytes SELECT owner, sum(octet_length(request)) FROM runs
        WHERE request IS NOT NULL GROUP BY owner
        ON CONFLICT (owner) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    """,
    # Limits of access tokens.
    "ALTER TABLE tokens ADD COLUMN quota text",
)


async def migrate(pool: Pool) -> None:
    """Create the tables, or update them to the newest version; one server at a time does so.

    Raises `UsageError` if a newer release of Headrace has written the database.
    """
    async with pool.transaction() as connection:
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS headrace_version (version integer NOT NULL)"
        )
        version = await connection.fetchval("SELECT version FROM headrace_version") or 0
        if version > len(MIGRATIONS):
            raise UsageError(
                f"the database has version {version}, but this Headrace knows only version"
                f" {len(MIGRATIONS)}: update Headrace"
            )
        if version == len(MIGRATIONS):
            return
        for script in MIGRATIONS[version:]:
            await connection.execute(script)
        await connection.execute("DELETE FROM headrace_version")
        await connection.execute("INSERT INTO headrace_version VALUES ($1)", len(MIGRATIONS))


async def check_version(pool: Pool) -> None:
    """Raise `UsageError` if the tables are not of the version that this Headrace reads."""
    found = await pool.fetch("SELECT to_regclass('headrace_version') IS NOT NULL AS is_there")
    version = 0
    if found[0]["is_there"]:
        rows = await pool.fetch("SELECT version FROM headrace_version")
        version = rows[0]["version"] if rows else 0
    if version != len(MIGRATIONS):
        advice = "update Headrace" if version > len(MIGRATIONS) else "start headrace serve once"
        raise UsageError(
            f"the database has version {version}, but this Headrace reads version"
            f" {len(MIGRATIONS)}: {advice}"
        )
