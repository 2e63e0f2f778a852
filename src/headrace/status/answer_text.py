"""The text of an answer without status markers, which some models write there as well."""

from __future__ import annotations

from headrace.status.marker import MarkerReader


class AnswerText:
    """Removes markers from one streamed text.

    What may still become a marker is held back, at most 200 characters. Code stays as it is.
    """

    __slots__ = ("_markers",)

    def __init__(self) -> None:
        self._markers = MarkerReader()

    def feed(self, text: str) -> str:
        """Return the text of a delta without markers; it may be empty."""
        markers = self._markers
        if markers.is_busy or "[" in text or "`" in text:
            return markers.feed(text)[0]
        if text.isspace():
            markers.pass_on(text)
        else:
            markers.last = text
        return text

    def close(self) -> str:
        """Return the text that was held back and is no marker."""
        return self._markers.close()


def remove_markers(text: str) -> str:
    """Return a whole text without status markers."""
    reader = MarkerReader()
    return reader.feed(text)[0] + reader.close()
