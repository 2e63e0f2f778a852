"""The commands of a chat, their words and what completes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class Slash(NamedTuple):
    """One command."""

    name: str
    takes: str
    meaning: str


SLASHES: Final = (
    Slash("help", "", "this list"),
    Slash("model", "[NAME]", "who answers; with a name, let another answer"),
    Slash("effort", "[LEVEL]", f"how hard to think: {', '.join(EFFORTS)}, or auto"),
    Slash(
        "reasoning", "[on|off]", "what the last answer was thought with; or show it live, or not"
    ),
    Slash("tools", "", "what the model may use, and what the last answer used"),
    Slash("retry", "", "answer the last question again; both answers are kept"),
    Slash("new", "", "begin a new conversation"),
    Slash("list", "", "the conversations that are kept"),
    Slash("open", "N", "go on with one of them, by its number in the list or its id"),
    Slash("save", "FILE", "write the conversation to a file, as Markdown"),
    Slash("quit", "", "leave; so does Ctrl-D"),
)
_SLASH = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)
_WORDS = {"effort": ("auto", *EFFORTS), "reasoning": ("on", "off")}


class Order(NamedTuple):
    """A command that was given."""

    name: str
    argument: str


def order_from(text: str) -> Order | None:
    """The command of a line; None where it is something to ask, such as a path."""
    found = _SLASH.fullmatch(text.strip())
    return None if found is None else Order(found[1], (found[2] or "").strip())


def help_lines() -> list[str]:
    """All of them, and the keys."""
    left = [f"/{one.name} {one.takes}".strip() for one in SLASHES]
    width = max(map(len, left)) + 2
    rows = [f"{said:<{width}}{one.meaning}" for said, one in zip(left, SLASHES, strict=True)]
    keys = (
        ("Enter", "send"),
        ("Alt+Enter", "begin a new line; so does \\ before Enter"),
        ("Ctrl-C", "stop the answer and keep it; twice: leave"),
        ("Up, Down", "what was asked before"),
    )
    return [*rows, "", *(f"{key:<{width}}{meaning}" for key, meaning in keys)]


def completions(line: str, models: Sequence[str]) -> Iterable[tuple[str, str]]:
    """What may stand for the last word of the line."""
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
