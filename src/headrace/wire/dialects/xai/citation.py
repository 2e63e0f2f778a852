"""The sources of an xAI turn: those of the whole response, and those inside the text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable

import msgspec

from headrace.events import CitationAdded
from headrace.wire.dialects.xai.chunk import WireCitation
from headrace.wire.ledger import Ledger, Output


class TextPlaces:
    """Where the text parts of one output begin, in characters of its whole text."""

    def __init__(self) -> None:
        self._parts: list[int] = []
        self._starts: list[int] = []

    def add(self, part: int | None, start: int) -> None:
        """Record where a part begins; a known part is ignored."""
        if part is not None and (not self._parts or self._parts[-1] != part):
            self._parts.append(part)
            self._starts.append(start)

    def at(self, place: int) -> tuple[int | None, int]:
        """Return the part at a position, and where it begins; (None, 0) if there is no text."""
        if not self._parts:
            return None, 0
        number = max(bisect_right(self._starts, place) - 1, 0)
        return self._parts[number], self._starts[number]


class XAISources:
    """States each source once. The list of the whole response repeats what the text has cited."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._cited: set[str] = set()
        self._told: set[Hashable] = set()

    def feed(self, urls: list[str]) -> None:
        """Take the list of the whole response, which may come with every chunk."""
        for url in urls:
            if url and url not in self._cited:
                self._cited.add(url)
                self._ledger.cite(CitationAdded(source="url", ref=url, raw=url))

    def cite(self, output: Output, citation: WireCitation, places: TextPlaces) -> None:
        """Add a source inside the text. xAI counts through the whole text of the output."""
        source, ref, quote = told = _parse_source(citation)
        key = (output.number, citation.id, citation.start_index, citation.end_index, told)
        if key in self._told:
            return
        self._told.add(key)
        part, begin = places.at(citation.start_index or 0)
        if ref:
            self._cited.add(ref)
        output.cite(
            CitationAdded(
                part=part,
                source=source,
                ref=ref,
                quote=quote,
                start=_shift_position(citation.start_index or 0, begin),
                end=_shift_position(citation.end_index, begin),
                raw=msgspec.to_builtins(citation),
            )
        )


def _shift_position(place: int | None, begin: int) -> int | None:
    return None if place is None or place < begin else place - begin


def _parse_source(citation: WireCitation) -> tuple[str, str | None, str | None]:
    """Return the kind of source, its address, and its text."""
    if citation.web_citation is not None:
        return "url", citation.web_citation.url or None, None
    if citation.x_citation is not None:
        return "x", citation.x_citation.url or None, None
    told = citation.collections_citation
    if told is not None:
        return "collection", told.file_id or None, told.chunk_content or None
    return "unknown", None, None
