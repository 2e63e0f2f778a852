"""The slash commands of a chat, with their help and completions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class Slash(NamedTuple):
    """One slash command."""

    name: str
    takes: str
    meaning: str


SLASHES: Final = (
    Slash("help", "", "this list"),
    Slash("model", "[NAME]", "who answers; with a name, let another answer"),
    Slash("effort", "[LEVEL]", "how hard to think; auto: as the model has it"),
    Slash("reasoning", "[on|off]", "how the last answer was thought; or show it live, or not"),
    Slash("tools", "", "what the model may use, and what the last answer used"),
    Slash("retry", "", "answer the last question again; both answers are kept"),
    Slash("new", "", "begin a new conversation"),
    Slash("list", "[N]", "the conversations that are kept; with a number, from there on"),
    Slash("open", "N", "go on with one of them: its number in the list, or its id"),
    Slash("save", "FILE", "write the conversation to a file, as Markdown"),
    Slash("quit", "", "leave; so does Ctrl-D"),
)
_KEYS: Final = (
    ("Enter", "send"),
    ("Alt+Enter", "begin a new line; so does \\ before Enter"),
    ("Ctrl-C", "stop the answer and keep it; twice: leave"),
    ("Up, Down", "what was asked before"),
)
_SLASH = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)
_WORDS = {"effort": ("auto", *EFFORTS), "reasoning": ("on", "off")}


class Order(NamedTuple):
    """A slash command as entered."""

    name: str
    argument: str


def order_from(text: str) -> Order | None:
    """Parse a slash command; None if the line is a message, such as a path."""
    found = _SLASH.fullmatch(text.strip())
    return None if found is None else Order(found[1], (found[2] or "").strip())


def help_rows() -> list[tuple[str, str]]:
    """Return the help for all commands and keys."""
    return [*((f"/{one.name} {one.takes}".strip(), one.meaning) for one in SLASHES), *_KEYS]


def completions(line: str, models: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return the completions of the last word of the line."""
    name, blank, rest = line.partition(" ")
    if not blank:
        for one in SLASHES:
            if one.name.startswith(name[1:]):
                yield f"/{one.name}", one.meaning
        return
    words = models if name == "/model" else _WORDS.get(name[1:], ())
    for word in words:
        if word.startswith(rest.lstrip()) and " " not in rest.strip():
            yield word, ""
