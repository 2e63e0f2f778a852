"""What a language brings to the finding of status phrases: words, patterns and bounds."""

from __future__ import annotations

import re

import msgspec


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """All patterns are in lower case, with the straight apostrophe."""

    name: str
    script: re.Pattern[str]
    """A sentence is of this language if this is found in it."""
    opening: re.Pattern[str]
    """Matches an announcement that opens the sentence; its last group is the phrase, verb
    first, and may run on."""
    inner: re.Pattern[str]
    """Finds one that opens a clause behind a comma or the like."""
    conjunctions: tuple[str, ...] = ()
    """Words that open a clause without one."""
    joined: re.Pattern[str] | None = None
    """Finds an announcement behind a conjunction; asked where there is one."""
    refused: re.Pattern[str]
    """Phrases that say nothing, deny, or state a fact."""
    supposes: re.Pattern[str]
    """The beginning of a sentence that only supposes."""
    asks: tuple[str, ...]
    """How a question ends."""
    stop: re.Pattern[str]
    """What a phrase ends before."""
    dangling: re.Pattern[str]
    """Words that cannot stand at the end of a phrase that was cut."""
    min_chars: int
    max_chars: int


def announcements(*, lead: str, families: tuple[str, ...]) -> str:
    """One pattern of all: it passes over words that change nothing ("Okay, so") and takes
    the first family that fits. A family has one group."""
    return rf"(?:{lead})(?:{'|'.join(families)})"
