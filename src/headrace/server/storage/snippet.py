"""Cuts the text around the first match of a search out of a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from headrace.server.storage.search_terms import (
    MAX_INDEXED_CHARS,
    SearchTerm,
    find_runs,
    fold_text,
    read_search,
)

MAX_SNIPPET_BYTES: Final = 131_072
"""Longest stored message of which a snippet is cut."""
_BEFORE_CHARS: Final = 40
_SNIPPET_CHARS: Final = 140


class SnippetPart(msgspec.Struct, frozen=True):
    """A piece of the text around a match."""

    text: str
    """The piece."""
    is_match: bool = False
    """Whether it matches a word of the search."""


class _Span(NamedTuple):
    start: int
    end: int


def cut_snippet(text: str, words: str) -> tuple[SnippetPart, ...]:
    """Return the text around the first match of a search in parts, of which some match. Empty if
    nothing matches."""
    # The first term is that of the owner, which is in no text.
    terms = read_search("", words)[1:]
    text = text[:MAX_INDEXED_CHARS]
    first = next(_find_matches(text, terms), None)
    if first is None:
        return ()
    start = _begin_at_word(text, max(0, first.start - _BEFORE_CHARS), first.start)
    # A word that is cut at the end would not match any more.
    window = " ".join(text[start : start + 2 * _SNIPPET_CHARS].split())
    cut = window[:_SNIPPET_CHARS]
    parts = _split(cut, _find_matches(cut, terms))
    if start > 0:
        parts.insert(0, SnippetPart("… "))
    if len(window) > len(cut):
        parts.append(SnippetPart(" …"))
    return tuple(parts)


def _begin_at_word(text: str, start: int, limit: int) -> int:
    """Return the beginning of the first word after `start`, unless that is behind the match."""
    if start == 0:
        return 0
    space = text.find(" ", start, limit)
    return start if space < 0 else space + 1


def _split(text: str, spans: Iterator[_Span]) -> list[SnippetPart]:
    parts: list[SnippetPart] = []
    done = 0
    for start, end in spans:
        if start > done:
            parts.append(SnippetPart(text[done:start]))
        if end > max(done, start):
            parts.append(SnippetPart(text[max(done, start) : end], is_match=True))
        done = max(done, end)
    if done < len(text):
        parts.append(SnippetPart(text[done:]))
    return parts


def _find_matches(text: str, terms: list[SearchTerm]) -> Iterator[_Span]:
    """Return where the terms are, in order."""
    for start, run, is_cjk in find_runs(text):
        folded = fold_text(run)
        if is_cjk:
            yield from _find_in_run(folded, start, terms)
        elif any(
            folded.startswith(term.text) if term.is_prefix else folded == term.text
            for term in terms
        ):
            yield _Span(start, start + len(run))


def _find_in_run(folded: str, start: int, terms: list[SearchTerm]) -> Iterator[_Span]:
    """Return where terms are in a run of characters that are written without spaces."""
    found: list[_Span] = []
    for term in terms:
        place = folded.find(term.text)
        while place >= 0:
            found.append(_Span(start + place, start + place + len(term.text)))
            place = folded.find(term.text, place + 1)
    yield from sorted(found)
