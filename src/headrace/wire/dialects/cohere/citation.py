"""Citations of Cohere streams."""

from __future__ import annotations

from typing import Any

from headrace.events import CitationAdded
from headrace.wire.json.number import parse_count
from headrace.wire.json.value import as_list, as_object, as_objects, as_text


def create_citations(part: int | None, citation: dict[str, Any]) -> list[CitationAdded]:
    """Return one citation for each source. Positions count characters of the text."""
    start, end = parse_count(citation.get("start")), parse_count(citation.get("end"))
    sources = as_objects(citation.get("sources"))
    # Version 1 names the documents only.
    names = [name for name in map(as_text, as_list(citation.get("document_ids"))) if name]
    sources = sources or [{"type": "document", "id": name} for name in names] or [{}]
    return [
        CitationAdded(
            part=part,
            source=as_text(source.get("type")),
            ref=_find_ref(source),
            title=as_text(as_object(source.get("document")).get("title")),
            start=start if part is not None else None,
            end=end if part is not None else None,
            raw={**citation, "sources": [source]} if source else citation,
        )
        for source in sources
    ]


def _find_ref(source: dict[str, Any]) -> str | None:
    document = as_object(source.get("document"))
    return as_text(document.get("url")) or as_text(source.get("id"))
