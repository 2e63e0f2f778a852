"""A note pad: the model puts down what is worth keeping apart from its answer."""

from __future__ import annotations

import threading
from typing import Any, Literal, TypeAlias

import msgspec

from headrace.content import JSONContent
from headrace.tools.result import ToolReturn, failure
from headrace.tools.tool import Tool

NoteType: TypeAlias = Literal["markdown", "text", "code", "html", "svg", "json", "csv", "mermaid"]


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is on a page of the pad."""

    title: str
    """A few words, by which it is found."""
    content: str
    """All of it."""
    type: NoteType = "markdown"
    """What the content is."""
    language: str | None = None
    """For code, the programming language."""


class NotePad:
    """Notes in memory, by title. A note of the same title is written over; where there are
    `max_notes`, the oldest goes.

    `tool` writes, which is all that an agent needs to show artifacts. `tools` can read and
    list as well: whoever talks to the agent reads what anybody had it write, so give each
    conversation a pad of its own.
    """

    def __init__(
        self, *, max_notes: int = 100, max_chars: int = 100_000, max_title_chars: int = 200
    ) -> None:
        self._max_notes = max_notes
        self._max_chars = max_chars
        self._max_title_chars = max_title_chars
        self._notes: dict[str, Note] = {}
        self._lock = threading.Lock()

    @property
    def notes(self) -> tuple[Note, ...]:
        """All of them, the oldest first."""
        with self._lock:
            return tuple(self._notes.values())

    @property
    def tool(self) -> Tool:
        """`notepad`: write a note."""
        return Tool(self.write, name="notepad", kind="artifact")

    @property
    def tools(self) -> tuple[Tool, Tool, Tool]:
        """`notepad`, `read_note` and `list_notes`."""
        return self.tool, Tool(self.read, name="read_note"), Tool(self.list, name="list_notes")

    def write(
        self,
        title: str,
        content: str,
        type: NoteType = "markdown",
        language: str | None = None,
    ) -> ToolReturn:
        """Put a document on the note pad, where the user sees it beside the answer: a draft,
        a list, a program, a drawing. Writing under the same title replaces it.

        Args:
            title: A few words; the note is found under them.
            content: All of the document.
            type: What the content is.
            language: For code, the programming language.
        """
        complaint = self._complaint(title, content)
        if complaint is not None:
            return failure(complaint)
        note = Note(title.strip(), content, type, language)
        with self._lock:
            self._notes.pop(note.title, None)
            self._notes[note.title] = note
            while len(self._notes) > self._max_notes:
                del self._notes[next(iter(self._notes))]
        return ToolReturn(content=(JSONContent(_artifact(note)),), kind="artifact")

    def read(self, title: str) -> dict[str, Any] | ToolReturn:
        """Read a note that was written before.

        Args:
            title: The title under which it was written.
        """
        with self._lock:
            note = self._notes.get(title.strip())
        if note is None:
            return failure(f"No note {title[: self._max_title_chars]!r}; list_notes tells them.")
        return _artifact(note)

    def list(self) -> list[dict[str, Any]]:
        """List the notes on the pad, the oldest first, without their content."""
        return [
            {"title": note.title, "type": note.type, "chars": len(note.content)}
            for note in self.notes
        ]

    def _complaint(self, title: str, content: str) -> str | None:
        if not title.strip() or len(title) > self._max_title_chars:
            return f"The title must have 1 to {self._max_title_chars} characters."
        if len(content) > self._max_chars:
            return (
                f"The note is too long: {len(content)} characters, at most {self._max_chars}."
                " Write it as several."
            )
        return None


def _artifact(note: Note) -> dict[str, Any]:
    """As those who show it want it: programs under `code`, anything else under `content`."""
    made: dict[str, Any] = {"title": note.title, "type": note.type}
    if note.language is not None:
        made["language"] = note.language
    return made | {"code" if note.type == "code" else "content": note.content}
