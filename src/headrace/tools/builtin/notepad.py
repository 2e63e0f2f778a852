"""A note pad: tools with which the model writes documents beside its answer."""

from __future__ import annotations

import threading
from typing import Any, Literal, TypeAlias

import msgspec

from headrace.content import JSONContent
from headrace.tools.result import ToolReturn, tool_error
from headrace.tools.tool import Tool

NoteType: TypeAlias = Literal["markdown", "text", "code", "html", "svg", "json", "csv", "mermaid"]


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document on the note pad."""

    title: str
    """A few words that identify it."""
    content: str
    """The whole document."""
    type: NoteType = "markdown"
    """The format of the content."""
    language: str | None = None
    """For code, the programming language."""


class NotePad:
    """Notes in memory, by title. Writing under a known title replaces the note; beyond
    `max_notes`, the oldest note is removed.

    `tool` only writes, which is enough to show artifacts. `tools` can also read and list: a
    user could then read what another one had the agent write, so give each conversation a note
    pad of its own.
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
        """All notes, the oldest first."""
        with self._lock:
            return tuple(self._notes.values())

    @property
    def tool(self) -> Tool:
        """The tool `notepad`, which writes a note."""
        return Tool(self.write, name="notepad", kind="artifact")

    @property
    def tools(self) -> tuple[Tool, Tool, Tool]:
        """The tools `notepad`, `read_note` and `list_notes`."""
        return self.tool, Tool(self.read, name="read_note"), Tool(self.list, name="list_notes")

    def write(
        self, title: str, content: str, type: NoteType = "markdown", language: str | None = None
    ) -> ToolReturn:
        """Put a document on the note pad, where the user sees it beside the answer: a draft,
        a list, a program, a drawing. Writing under the same title replaces it.

        Args:
            title: A few words; the note is found under them.
            content: All of the document.
            type: What the content is.
            language: For code, the programming language.
        """
        error = self._check(title, content)
        if error is not None:
            return tool_error(error)
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
            return tool_error(f"No note {title[: self._max_title_chars]!r}; list_notes lists them.")
        return _artifact(note)

    def list(self) -> list[dict[str, Any]]:
        """List the notes on the pad, the oldest first, without their content."""
        return [
            {"title": note.title, "type": note.type, "chars": len(note.content)}
            for note in self.notes
        ]

    def _check(self, title: str, content: str) -> str | None:
        if not title.strip() or len(title) > self._max_title_chars:
            return f"The title must have 1 to {self._max_title_chars} characters."
        if len(content) > self._max_chars:
            return (
                f"The note is too long: {len(content)} characters, at most {self._max_chars}."
                " Write it as several."
            )
        return None


def _artifact(note: Note) -> dict[str, Any]:
    """Convert a note for a UI: programs are under `code`, anything else under `content`."""
    artifact: dict[str, Any] = {"title": note.title, "type": note.type}
    if note.language is not None:
        artifact["language"] = note.language
    return artifact | {"code" if note.type == "code" else "content": note.content}
