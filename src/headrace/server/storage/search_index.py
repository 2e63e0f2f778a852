"""The search index: which terms a text has, and which conversations have the terms of a search.

Terms are words without case and accents. Chinese and Japanese are written without spaces, so each
pair of neighboring characters is a term there, and a search finds any part of a sentence. Each text
also has a term for its owner, so that a search never looks at the texts of others.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from headrace.errors import HeadraceError

MAX_WORDS: Final = 16
"""Most words of one search."""
MAX_CANDIDATES: Final = 2_000
"""Most matching messages, the newest first, that one search looks at."""
MAX_INDEXED_CHARS: Final = 100_000
"""Length of the beginning of a text that can be found."""
_MAX_WORD_CHARS: Final = 64
_MAX_PAIRS: Final = 16

_CJK = (
    "\u2e80-\u2eff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"([{_CJK}]+)|[^\W_{_CJK}]+")
# A character for private use: no word of a text or of a search contains it.
_OWNER_MARK = "\ue000"


class TooManyWords(HeadraceError):
    """A search has more than `MAX_WORDS` words."""


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
    """Return the terms of a text, each once, separated by spaces."""
    terms = {_owner_term(owner): None}
    for match in _RUN.finditer(_fold(text[:MAX_INDEXED_CHARS])):
        run = match[0]
        if match[1] is None:
            terms[run[:_MAX_WORD_CHARS]] = None
        else:
            # The last character by itself: it begins no pair.
            terms |= dict.fromkeys([*_to_pairs(run), run[-1]])
    return " ".join(terms)


def to_query(owner: str, words: str) -> str | None:
    """Return the FTS5 query for a search, or None if it has no words. Raises `TooManyWords`."""
    runs = list(_RUN.finditer(_fold(words)))
    if len(runs) > MAX_WORDS:
        raise TooManyWords(f"a search may have at most {MAX_WORDS} words")
    if not runs:
        return None
    parts = [f'"{_owner_term(owner)}"']
    for match in runs:
        run = match[0]
        if match[1] is None or len(run) == 1:
            parts.append(f'"{run[:_MAX_WORD_CHARS]}"*')
        else:
            parts += [f'"{pair}"' for pair in _to_pairs(run)[:_MAX_PAIRS]]
    return " AND ".join(parts)


def find_conversations(
    connection: sqlite3.Connection, owner: str, query: str, limit: int
) -> list[sqlite3.Row]:
    """Return the conversations that match: by their title first, then by a message.

    Both parts have the newest first.
    """
    found: dict[str, sqlite3.Row] = {}
    for name in ("title_index", "word_index"):
        candidates = connection.execute(
            f"SELECT conversation_id FROM {name}(?) ORDER BY rowid DESC LIMIT ?",
            (query, MAX_CANDIDATES),
        )
        _add_rows(connection, owner, (row[0] for row in candidates), limit, found)
    return list(found.values())


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


def _to_pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _owner_term(owner: str) -> str:
    return _OWNER_MARK + hashlib.sha256(owner.encode()).hexdigest()[:16]


def _fold(text: str) -> str:
    text = text.casefold()
    if text.isascii():
        return text
    return "".join(map(_remove_accent, unicodedata.normalize("NFKC", text)))


@lru_cache(4096)
def _remove_accent(character: str) -> str:
    """Return a Latin, Greek or Cyrillic letter without its accent, and others as they are."""
    base = unicodedata.normalize("NFD", character)[0]
    return base if base < "\u0530" else character
