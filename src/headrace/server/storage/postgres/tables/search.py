"""Searches conversations in PostgreSQL, by the same terms as in SQLite."""

from __future__ import annotations

from typing import Any, Final

from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.search_terms import MAX_CANDIDATES, SearchTerm, read_search
from headrace.server.storage.snippet import MAX_SNIPPET_BYTES

# Longer than any search takes; a search that does is ended.
_SEARCH_S: Final = 2.0


async def find_conversations(pool: Pool, owner: str, words: str, limit: int) -> list[Any]:
    """Return the conversations that match: by their title first, then by a message. Both parts have
    the newest first. Raises `TooManyWords` and `SearchFailed`."""
    terms = read_search(owner, words)
    if not terms:
        return []
    owner_term, *words_terms = terms
    query = " & ".join(_to_lexeme(owner_term, term) for term in words_terms)
    values = (query, owner, MAX_CANDIDATES, limit, MAX_SNIPPET_BYTES)
    return await pool.search(_QUERY, values, _SEARCH_S)


def _to_lexeme(owner: SearchTerm, term: SearchTerm) -> str:
    # Terms have letters and digits only: nothing in them has to be escaped.
    return f"'{owner.text}{term.text}'" + ":*" * term.is_prefix


_QUERY: Final = """
WITH titles AS (
    SELECT id, 0 AS rank, created_ms AS at_ms FROM conversations
    WHERE terms @@ $1::text::tsquery AND owner = $2 ORDER BY created_ms DESC LIMIT $3
), texts AS (
    SELECT conversation_id AS id, 1 AS rank, place AS at_ms FROM messages
    WHERE terms @@ $1::text::tsquery AND owner = $2 ORDER BY place DESC LIMIT $3
), found AS (
    SELECT id, min(rank) AS rank, max(at_ms) AS at_ms,
        max(at_ms) FILTER (WHERE rank = 1) AS message_place
    FROM (SELECT * FROM titles UNION ALL SELECT * FROM texts) AS both_parts GROUP BY id
)
SELECT conversation.*, message.id AS message_id, message.body AS message_body
FROM (SELECT * FROM found ORDER BY rank, at_ms DESC OFFSET 0) AS found
CROSS JOIN LATERAL (
    -- One look-up for each candidate: a join might read the whole table.
    SELECT * FROM conversations WHERE id = found.id AND deleted_ms IS NULL AND owner = $2 OFFSET 0
) AS conversation LEFT JOIN LATERAL (
    SELECT messages.id, CASE WHEN size <= $5 THEN body END AS body FROM messages
    WHERE messages.owner = $2 AND messages.place = found.message_place OFFSET 0
) AS message ON true ORDER BY rank, found.at_ms DESC LIMIT $4
"""
