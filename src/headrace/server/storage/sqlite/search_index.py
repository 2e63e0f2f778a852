"""The search index in SQLite: which conversations have the terms of a search."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from headrace.server.storage.search_terms import MAX_CANDIDATES, list_terms, read_search


def create_index(connection: sqlite3.Connection) -> None:
    """Create the tables of the index, and fill them from those of earlier versions."""
    for name, old in (("word_index", "words"), ("title_index", "titles")):
        # Positions are not needed, which makes the index much smaller. The texts are split into
        # terms before, so the simplest tokenizer is enough. One and two letters are indexed as
        # prefixes: a search for them would have to merge very many terms.
        connection.execute(
            f"CREATE VIRTUAL TABLE {name} USING fts5 (terms, conversation_id UNINDEXED,"
            " detail = none, prefix = '1 2', tokenize = 'ascii')"
        )
        for row in connection.execute(f"SELECT rowid, text, conversation_id, owner FROM {old}"):
            terms = to_terms(row[3], row[1])
            values = (row[0], terms, row[2])
            connection.execute(
                f"INSERT INTO {name} (rowid, terms, conversation_id) VALUES (?, ?, ?)", values
            )
        connection.execute(f"DROP TABLE {old}")


def to_terms(owner: str, text: str) -> str:
    """Return the terms of a text, separated by spaces, as the index stores them."""
    return " ".join(list_terms(owner, text))


def to_query(owner: str, words: str) -> str | None:
    """Return the FTS5 query for a search, or None if it has no words. Raises `TooManyWords`."""
    terms = read_search(owner, words)
    return " AND ".join(f'"{text}"' + "*" * is_prefix for text, is_prefix in terms) or None


def find_conversations(
    connection: sqlite3.Connection, owner: str, query: str, limit: int
) -> list[tuple[sqlite3.Row, int | None]]:
    """Return the conversations that match: by their title first, then by a message. Each with the
    row of its newest matching message in the index of words, or None if only the title matches.

    Both parts have the newest first.
    """
    found: dict[str, sqlite3.Row] = {}
    titles, words = (
        connection.execute(
            f"SELECT conversation_id, rowid FROM {name}(?) ORDER BY rowid DESC LIMIT ?",
            (query, MAX_CANDIDATES),
        ).fetchall()
        for name in ("title_index", "word_index")
    )
    for rows in (titles, words):
        _add_rows(connection, owner, (row[0] for row in rows), limit, found)
    # The newest is the first: it must not be replaced.
    places = {row[0]: row[1] for row in reversed(words)}
    return [(row, places.get(row["id"])) for row in found.values()]


def _add_rows(
    connection: sqlite3.Connection,
    owner: str,
    ids: Iterable[str],
    limit: int,
    found: dict[str, sqlite3.Row],
) -> None:
    for conversation_id in dict.fromkeys(ids):
        if len(found) == limit:
            return
        row = connection.execute(
            "SELECT * FROM conversations WHERE id = ? AND owner = ? AND deleted_ms IS NULL",
            (conversation_id, owner),
        ).fetchone()
        if row is not None:
            found.setdefault(conversation_id, row)
