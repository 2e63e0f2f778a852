"""The notes: a table of SQLite, written by the agent, and pinned by people."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TABLE = """
CREATE TABLE IF NOT EXISTS notes (
    title TEXT PRIMARY KEY COLLATE NOCASE,
    content TEXT NOT NULL,
    is_pinned INTEGER NOT NULL DEFAULT 0
)
"""
ALL = "SELECT title, content, is_pinned FROM notes ORDER BY is_pinned DESC, title"


@dataclass(frozen=True)
class Note:
    title: str
    content: str
    is_pinned: bool

    def holds(self, words: str) -> bool:
        """Whether all of them stand in it, whatever their case."""
        text = f"{self.title} {self.content}".lower()
        return all(word in text for word in words.lower().split())


class Notes:
    """All of them, in one file. Every step has its own connection, since tools run in threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._database() as database:
            database.execute(TABLE)

    def all(self) -> list[Note]:
        return self.find("")

    def find(self, words: str) -> list[Note]:
        """Those that hold all of the words, the pinned ones first."""
        with self._database() as database:
            rows = database.execute(ALL).fetchall()
        notes = [Note(title, content, bool(is_pinned)) for title, content, is_pinned in rows]
        return [note for note in notes if note.holds(words)]

    def write(self, title: str, content: str) -> None:
        """Write a note, or another content for the one that has this title."""
        with self._database() as database:
            database.execute(
                "INSERT INTO notes (title, content) VALUES (?, ?)"
                " ON CONFLICT (title) DO UPDATE SET content = excluded.content",
                (title, content),
            )

    def remove(self, title: str) -> bool:
        """Whether there was one."""
        with self._database() as database:
            return database.execute("DELETE FROM notes WHERE title = ?", (title,)).rowcount > 0

    def pin(self, title: str) -> None:
        self._set_pin(title, True)

    def unpin(self, title: str) -> None:
        self._set_pin(title, False)

    def is_pinned(self, title: str) -> bool:
        with self._database() as database:
            found = database.execute("SELECT is_pinned FROM notes WHERE title = ?", (title,))
            return (1,) in found.fetchall()

    def _set_pin(self, title: str, is_pinned: bool) -> None:
        with self._database() as database:
            database.execute("UPDATE notes SET is_pinned = ? WHERE title = ?", (is_pinned, title))

    @contextmanager
    def _database(self) -> Generator[sqlite3.Connection, None, None]:
        """A connection for one step, which is kept as a whole or not at all."""
        connection = sqlite3.connect(self._path)
        try:
            with connection:
                yield connection
        finally:
            connection.close()
