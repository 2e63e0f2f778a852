"""Status phrases of a text that is already there, without records and without a stream."""

from __future__ import annotations

from headrace.status.marker import MarkerReader
from headrace.status.reasoning_reader import ReasoningReader


def extract_status(text: str) -> str | None:
    """Return the latest phrase or title with which a reasoning text says what the model does.

    The end of the text ends its last sentence. Markers are ignored; see `parse_status_marker()`.
    Returns None if there is none.
    """
    reader = ReasoningReader(())
    found = reader.read_all(text)
    return found[-1].text if found else None


def parse_status_marker(text: str) -> str | None:
    """Return what the last closed `[STATUS: …]` marker of a text says, or None.

    Markers in code, and those longer than 200 characters, do not count.
    """
    markers = [marker for marker in MarkerReader().feed(text)[1] if marker]
    return markers[-1] if markers else None
