"""Searches conversations in PostgreSQL, by the same terms as in SQLite."""

from __future__ import annotations

from typing import Any, Final

from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.search_terms import MAX_CANDIDATES, SearchTerm, read_search

# Longer than any search takes; a search that does is ended.
_SEARCH_S: Final = 2.0


async def find_conversations(pool: Pool, owner: str, words: str, limit: int) -> list[Any]:
    """Return the conversations that match: by their title first, then by a message. Both parts have
    the newest first. Raises `TooManyWords` and `SearchFailed`."""
    terms = read_search(owner, words)
    if not terms:
        return []
    query = " & ".join(map(_to_lexeme, terms))
    return await pool.search(_QUERY, (query, owner, MAX_CANDIDATES, limit), _SEARCH_S)


def _to_lexeme(term: SearchTerm) -> str:
    # Terms have letters and digits only: nothing in them has to be escaped.
    return f"'{term.text}'" + ":*" * term.is_prefix


_QUERY: Final = """
WITH titles AS (
    SELECT id, 0 AS rank, created_ms AS at_ms FROM conversations
    WHERE terms @@ $1::text::tsquery AND owner = $2 ORDER BY created_ms DESC LIMIT $3
), texts AS (
    SELECT conversation_id AS id, 1 AS rank, place AS at_ms FROM messages
    WHERE terms @@ $1::text::tsquery AND owner = $2 ORDER BY place DESC LIMIT $3
), found AS (
    SELECT id, min(rank) AS rank, max(at_ms) AS at_ms
    FROM (SELECT * FROM titles UNION ALL SELECT * FROM texts) AS both_parts GROUP BY id
)
SELECT conversations.* FROM found JOIN conversations USING (id)
WHERE deleted_ms IS NULL AND owner = $2 ORDER BY rank, found.at_ms DESC LIMIT $4
"""
