"""The agent of the notebook: its instructions, its tools, and the protection of pinned notes."""

from typing import Any

from headrace import Agent, Budget, Decision, Deny, Middleware, RunView, ToolCall

from .notes import Note, Notes

INSTRUCTIONS = """\
You keep the user's notebook. Write what is worth keeping as short notes in Markdown, one subject
a note. Look into the notebook before you say that something is not there. Remove a note only when
you are asked to."""


class Pins(Middleware):
    """Denies calls that would replace or remove a pinned note."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def before_tool(self, run: RunView, call: ToolCall) -> Decision:
        match call.name, call.args:
            case "notepad" | "remove_note", {"title": str(title)} if self._notes.is_pinned(title):
                return Deny(f"{title!r} is pinned. Ask the user to unpin it first.")
            case _:
                return None


def notebook_agent(notes: Notes, model: str, **options: Any) -> Agent:
    """Create an agent for these notes. `options` are passed to `Agent`; tests pass a transport."""

    def notepad(title: str, content: str) -> str:
        """Write a note, in Markdown. A note with the same title is replaced."""
        notes.write(title, content)
        return f"Written: {title}"

    def find_notes(words: str = "") -> list[Note]:
        """Find the notes that contain all of these words; without words, all notes."""
        return notes.find(words)

    def remove_note(title: str) -> str:
        """Remove the note with this title permanently."""
        if not notes.remove(title):
            raise LookupError(f"there is no note {title!r}")
        return f"Removed: {title}"

    return Agent(
        model,
        instructions=INSTRUCTIONS,
        tools=[notepad, find_notes, remove_note],
        middleware=[Pins(notes), Budget(max_tool_calls=20)],
        **options,
    )
