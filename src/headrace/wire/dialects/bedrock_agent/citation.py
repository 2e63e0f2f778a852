"""Citations of Bedrock agents: the documents that a passage of the answer is taken from."""

from __future__ import annotations

from typing import Any

from headrace.events import CitationAdded
from headrace.wire.json.number import parse_count
from headrace.wire.json.value import as_object, as_objects, as_text

_REFS = ("uri", "url", "id")


def create_citations(part: int | None, citation: dict[str, Any]) -> list[CitationAdded]:
    """Return one citation for each document. The end of a span is its last character there, and the
    character after it here."""
    passage = as_object(as_object(citation.get("generatedResponsePart")).get("textResponsePart"))
    span = as_object(passage.get("span"))
    start, last = parse_count(span.get("start")), parse_count(span.get("end"))
    is_placed = part is not None and start is not None and last is not None
    return [
        CitationAdded(
            part=part,
            source=(as_text(as_object(reference.get("location")).get("type")) or "").lower()
            or None,
            ref=_find_ref(as_object(reference.get("location"))),
            quote=as_text(as_object(reference.get("content")).get("text")),
            start=start if is_placed else None,
            end=last + 1 if is_placed and last is not None else None,
            raw={**citation, "retrievedReferences": [reference]},
        )
        for reference in as_objects(citation.get("retrievedReferences"))
    ]


def _find_ref(location: dict[str, Any]) -> str | None:
    """Return the address or id inside the location, whatever kind of place it is."""
    places = [as_object(place) for place in location.values()]
    refs = [as_text(place.get(name)) for place in places for name in _REFS]
    return next(filter(None, refs), None)
