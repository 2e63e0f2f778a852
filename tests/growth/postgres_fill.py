"""Fills a PostgreSQL database with conversations, and counts what operations on it cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from headrace.content import TextContent
from headrace.messages import Message
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.search_terms import list_terms

OWNER: Final = "anna"
MESSAGES: Final = 10
"""Messages of each conversation."""
_CONVERSATIONS: Final = """
INSERT INTO conversations (id, owner, title, created_ms, updated_ms, leaf_id, terms)
SELECT 'conv_' || n, $3, 'Title ' || n, n, n, 'msg_' || n || '_9',
    array_to_tsvector(ARRAY[$4 || 'title', $4 || 'name' || n])
FROM generate_series($1::bigint, $2::bigint) AS n
"""
_MESSAGES: Final = f"""
INSERT INTO messages
    (id, conversation_id, owner, parent_id, run_id, role, created_ms, body, terms)
SELECT 'msg_' || n || '_' || k, 'conv_' || n, $3,
    CASE WHEN k > 0 THEN 'msg_' || n || '_' || (k - 1) END,
    CASE WHEN k % 2 = 1 THEN 'run_' || n || '_' || k END,
    CASE WHEN k % 2 = 1 THEN 'assistant' ELSE 'user' END, n * 10 + k, $5,
    array_to_tsvector(ARRAY[$4 || 'water', $4 || 'group' || (n % 100), $4 || 'word' || n])
FROM generate_series($1::bigint, $2::bigint) AS n, generate_series(0, {MESSAGES - 1}) AS k
"""
_RUNS: Final = f"""
INSERT INTO runs (id, owner, conversation_id, parent_id, message_id, model, state, holder,
    created_ms, closed_ms, fingerprint, is_logged)
SELECT 'run_' || n || '_' || k, $3, 'conv_' || n, 'msg_' || n || '_' || (k - 1),
    'msg_' || n || '_' || k, 'test', 'closed', 'node', n, n, '', false
FROM generate_series($1::bigint, $2::bigint) AS n, generate_series(1, {MESSAGES - 1}, 2) AS k
"""
_COUNT: Final = """
SELECT sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0)
    + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0)
    + coalesce(toast_blks_read, 0) + coalesce(toast_blks_hit, 0))::bigint AS blocks
FROM pg_statio_user_tables
"""


async def fill(pool: Pool, first: int, last: int) -> None:
    """Add the conversations with these numbers, as one user has them."""
    (term,) = list_terms(OWNER, "")
    message = Message(role="user", content=(TextContent("How much water? " * 10),))
    body = msgspec.json.encode(message)
    for start in range(first, last + 1, 10_000):
        end = min(last, start + 9_999)
        async with pool.transaction() as connection:
            await connection.execute(_CONVERSATIONS, start, end, OWNER, term, timeout=300)
            await connection.execute(_MESSAGES, start, end, OWNER, term, body, timeout=300)
            await connection.execute(_RUNS, start, end, OWNER, timeout=300)
    async with pool._acquire() as connection:
        await connection.execute("VACUUM ANALYZE", timeout=300)


async def count_blocks(pool: Pool, work: Callable[[], Awaitable[Any]]) -> tuple[int, Any]:
    """Return how many blocks some work reads, from the cache or the disk, and its result. The pool
    must have one connection."""
    before = await _count(pool)
    result = await work()
    return await _count(pool) - before, result


async def _count(pool: Pool) -> int:
    # Statistics of this connection are passed on at the end of its next transaction.
    await pool.fetch("SELECT pg_stat_force_next_flush()")
    (row,) = await pool.fetch(_COUNT)
    return int(row["blocks"])
