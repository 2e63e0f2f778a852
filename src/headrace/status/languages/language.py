"""The interface of a language table: words, patterns and length limits."""

from __future__ import annotations

import re

import msgspec


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that finding status phrases needs to know about a language.

    Patterns match lowercase text with straight apostrophes.
    """

    name: str
    script: re.Pattern[str]
    """Found in every sentence of this language."""
    opening: re.Pattern[str]
    """Matches an announcement at the start of a sentence. The last group is the phrase, verb first;
    it may be longer than what is shown."""
    inner: re.Pattern[str]
    """Finds an announcement that opens a clause after a comma or similar punctuation."""
    conjunctions: tuple[str, ...] = ()
    """Words that open a clause without punctuation."""
    joined: re.Pattern[str] | None = None
    """Finds an announcement after one of `conjunctions`."""
    refused: re.Pattern[str]
    """Matches phrases that say nothing, negate, or state a fact."""
    supposes: re.Pattern[str]
    """Matches the start of a sentence that only supposes something."""
    asks: tuple[str, ...]
    """Endings of questions."""
    stop: re.Pattern[str]
    """Matches where a phrase ends."""
    dangling: re.Pattern[str]
    """Matches words that must not end a shortened phrase."""
    min_chars: int
    max_chars: int


def announcements(*, lead: str, families: tuple[str, ...]) -> str:
    """Build one pattern from several families.

    It skips lead words that change nothing ("Okay, so") and takes the first family that matches.
    Each family has one group.
    """
    return rf"(?:{lead})(?:{'|'.join(families)})"
