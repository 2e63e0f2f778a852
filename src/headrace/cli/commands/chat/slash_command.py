"""The slash commands of a chat, with their help and completions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from headrace.cli.option import EFFORTS


class Slash(NamedTuple):
    """One slash command."""

    name: str
    takes: str
    meaning: str


SLASHES: Final = (
    Slash("help", "", "this list"),
    Slash("model", "[NAME]", "show the model; with a name, switch to another"),
    Slash("effort", "[LEVEL]", "set the reasoning effort; auto: the model's default"),
    Slash("reasoning", "[on|off]", "show the last reasoning; on, off: whether to show it live"),
    Slash("tools", "", "list the tools, and what the last answer used"),
    Slash("retry", "", "regenerate the last answer; both are kept"),
    Slash("attach", "[FILE]", "attach a file to the next message; without a name, remove all"),
    Slash("prompts", "", "list the prompts of the MCP servers"),
    Slash("prompt", "NAME [ARGUMENT=VALUE …]", "ask with a prompt of an MCP server"),
    Slash("resources", "", "list the resources of the MCP servers"),
    Slash("resource", "URI", "add a resource to the next message"),
    Slash("copy", "", "copy the last answer to the clipboard"),
    Slash("new", "", "start a new conversation"),
    Slash("list", "[N]", "list the conversations; with a number, from there on"),
    Slash("open", "N", "continue a conversation: its number in the list, or its id"),
    Slash("delete", "[N]", "delete this conversation, or one of the list"),
    Slash("save", "FILE", "save the conversation to a file, as Markdown"),
    Slash("quit", "", "quit; so does Ctrl-D"),
)
_KEYS: Final = (
    ("Enter", "send"),
    ("Alt+Enter", "start a new line; so does \\ before Enter"),
    ("Ctrl-C", "stop the answer and keep it; twice: quit"),
    ("Up, Down", "earlier messages, also of earlier chats"),
    ("Ctrl-X Ctrl-E", "write the message in $EDITOR"),
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
