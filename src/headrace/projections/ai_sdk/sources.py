"""Sources in the AI SDK's stream: each is a chunk, once."""

from __future__ import annotations

from headrace import events as ev
from headrace.messages import Citation
from headrace.projections.ai_sdk.frame import SourceDocument, SourceURL


class Sources:
    """The sources of one message that were shown."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def add(self, citation: ev.CitationAdded | Citation) -> list[SourceURL | SourceDocument]:
        """Return the chunk of a source, unless it was shown or has no name."""
        ref = citation.ref or citation.title
        if ref is None or ref in self._seen:
            return []
        self._seen.add(ref)
        id = f"s{len(self._seen)}"
        if citation.ref is not None and citation.ref.startswith(("http://", "https://")):
            return [SourceURL(id, citation.ref, citation.title)]
        return [SourceDocument(id, "application/octet-stream", citation.title or ref)]

    def clear(self) -> None:
        """Forget them: a step that showed some is tried again."""
        self._seen.clear()
