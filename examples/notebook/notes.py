"""The notes: an SQLite table that the agent writes to, and in which users pin notes."""

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
        """Return whether the note contains all of these words, ignoring case."""
        text = f"{self.title} {self.content}".lower()
        return all(word in text for word in words.lower().split())


class Notes:
    """All notes, in one file. Each operation opens a connection, since tools run in threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._database() as database:
            database.execute(TABLE)

    def all(self) -> list[Note]:
        return self.find("")

    def find(self, words: str) -> list[Note]:
        """Return the notes that contain all of the words, pinned ones first."""
        with self._database() as database:
            rows = database.execute(ALL).fetchall()
        notes = [Note(title, content, bool(is_pinned)) for title, content, is_pinned in rows]
        return [note for note in notes if note.holds(words)]

    def write(self, title: str, content: str) -> None:
        """Write a note, or replace the content of the note with this title."""
        with self._database() as database:
            database.execute(
                "INSERT INTO notes (title, content) VALUES (?, ?)"
                " ON CONFLICT (title) DO UPDATE SET content = excluded.content",
                (title, content),
            )

    def remove(self, title: str) -> bool:
        """Remove a note. Returns whether it existed."""
        with self._database() as database:
            return database.execute("DELETE FROM notes WHERE title = ?", (title,)).rowcount > 0

    def pin(self, title: str) -> None:
        self._set_pin(title, True)

    def unpin(self, title: str) -> None:
        self._set_pin(title, False)

    def is_pinned(self, title: str) -> bool:
        with self._database() as database:
            rows = database.execute("SELECT is_pinned FROM notes WHERE title = ?", (title,))
            return (1,) in rows.fetchall()

    def _set_pin(self, title: str, is_pinned: bool) -> None:
        with self._database() as database:
            database.execute("UPDATE notes SET is_pinned = ? WHERE title = ?", (is_pinned, title))

    @contextmanager
    def _database(self) -> Generator[sqlite3.Connection, None, None]:
        """Open a connection for one transaction."""
        connection = sqlite3.connect(self._path)
        try:
            with connection:
                yield connection
        finally:
            connection.close()
