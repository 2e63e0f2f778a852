"""Which tools the rehearsal model calls, and with which arguments."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec

from headrace.rehearsal.reading import Reading
from headrace.rehearsal.request_reader import Heard, HeardTool
from headrace.wire.json.value import as_list, as_object, as_text

Kind: TypeAlias = Literal["calculator", "clock", "notepad"]
# Names by which the tools of each kind are known.
_NAMES: dict[Kind, tuple[str, ...]] = {
    "calculator": ("calculator", "calculate"),
    "clock": ("clock", "current_time"),
    "notepad": ("notepad", "note_pad", "notes"),
}
_MEANINGS: dict[str, str] = {
    **dict.fromkeys(("expression", "formula", "input", "query"), "expression"),
    **dict.fromkeys(("title", "name", "subject", "heading"), "title"),
    **dict.fromkeys(("content", "text", "body", "markdown", "note"), "content"),
}
_DEFAULT_SUM = "6 * 7"

_MIN_NAME_CHARS = 3
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_QUOTED = re.compile(r"[\"“]([^\"”]{1,80})[\"”]")
# A name: capitalized words that do not open the sentence, or what a preposition introduces.
_NAME = re.compile(r"(?<=[a-z,:] )(?:[A-Z][\w'-]*)(?: [A-Z][\w'-]*){0,3}")
_AFTER_PREPOSITION = re.compile(r"\b(?:of|for|in|at|about|to|from)\s+(?:the\s+)?([\w'-]{2,40})")


class ToolUse(msgspec.Struct, frozen=True):
    """One call to make."""

    name: str
    args: dict[str, Any]
    purpose: str
    """What the call is for; continues "I need to"."""


def plan_calls(reading: Reading, heard: Heard) -> list[ToolUse]:
    """Return the calls that help with the message, of the tools that are offered."""
    helps = {
        "calculator": bool(reading.sums),
        "clock": reading.asks_time,
        "notepad": reading.note is not None,
    }
    wants_all = bool(reading.wishes & {"parallel", "think again"})
    uses: list[ToolUse] = []
    for kind in sorted(_NAMES, key=lambda kind: not helps[kind]):
        tool = next((tool for tool in heard.tools if tool.name in _NAMES[kind]), None)
        if tool is not None and (helps[kind] or wants_all):
            uses += [
                ToolUse(tool.name, _fill_arguments(tool, meant), purpose)
                for meant, purpose in _find_uses(kind, reading)
            ]
    known = {name for names in _NAMES.values() for name in names}
    for tool in heard.tools:
        arguments = None if tool.name in known else arguments_from(tool, reading)
        if arguments is not None:
            uses.append(ToolUse(tool.name, arguments, f"use {tool.name.replace('_', ' ')}"))
    return uses


# --- tools of a known kind


def _find_uses(kind: Kind, reading: Reading) -> list[tuple[dict[str, str], str]]:
    """Return the arguments of each call by their meaning, with its purpose."""
    match kind:
        case "calculator":
            sums = reading.sums or (_DEFAULT_SUM,)
            return [({"expression": entry}, f"work out {entry}") for entry in sums]
        case "clock":
            return [({}, "look at the clock")]
        case "notepad":
            title = (reading.note or "A rehearsal note").strip()
            title = title[:1].upper() + title[1:]
            note = {"title": title, "content": draft(title, reading)}
            return [(note, f"put “{title}” on the note pad")]


def _fill_arguments(tool: HeardTool, meant: dict[str, str]) -> dict[str, Any]:
    """Return the meant values under the names that the tool's schema has for them."""
    properties = as_object(tool.schema.get("properties"))
    if not properties:
        return dict(meant) if "properties" not in tool.schema else {}
    filled = {
        name: meant[_MEANINGS[name]]
        for name in properties
        if name in _MEANINGS and _MEANINGS[name] in meant
    }
    for name in filter(None, map(as_text, as_list(tool.schema.get("required")))):
        filled.setdefault(name, _anything(as_object(properties.get(name)), meant))
    return filled


def _anything(schema: dict[str, Any], meant: dict[str, str]) -> Any:
    """Return some value for a required field without a known meaning."""
    choices = as_list(schema.get("enum"))
    if choices:
        return choices[0]
    empty: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
    return empty.get(str(schema.get("type")), next(iter(meant.values()), ""))


def draft(title: str, reading: Reading) -> str:
    """Write a note from the words of the message."""
    points = [word for word in dict.fromkeys(reading.words) if len(word) > 3][:5]
    rows = "\n".join(f"- [ ] {point}" for point in points)
    return (
        f"# {title}\n\nAsked for: “{reading.text[:200]}”\n\n{rows}\n\n"
        "*Written by the rehearsal model: a place for words, not the words themselves.*\n"
    )


# --- any other tool that a message names


def arguments_from(tool: HeardTool, reading: Reading) -> dict[str, Any] | None:
    """Return arguments for a tool that the message names, or None if it does not fit.

    Only required arguments are filled. A message names a tool if it contains a word of the tool's
    name; every required argument must be found in the message.
    """
    if not _is_named(tool.name, reading):
        return None
    properties = as_object(tool.schema.get("properties"))
    source = _Source(reading.text)
    arguments: dict[str, Any] = {}
    for name in filter(None, map(as_text, as_list(tool.schema.get("required")))):
        value = source.take(as_object(properties.get(name)))
        if value is None:
            return None
        arguments[name] = value
    return arguments


def _is_named(name: str, reading: Reading) -> bool:
    words = {word.lower() for word in reading.words}
    parts = [part.lower() for part in _WORDS.findall(name)]
    return any(part in words for part in parts if len(part) >= _MIN_NAME_CHARS)


class _Source:
    """Values of a message, each used once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._numbers = _NUMBER.findall(text)
        self._texts = list(
            dict.fromkeys(
                _QUOTED.findall(text) + _NAME.findall(text) + _AFTER_PREPOSITION.findall(text)
            )
        )

    def take(self, schema: dict[str, Any]) -> Any:
        """Return a value that fits the schema, or None."""
        choices = as_list(schema.get("enum"))
        if choices:
            lower = self._text.lower()
            return next((c for c in choices if isinstance(c, str) and c.lower() in lower), None)
        match schema.get("type"):
            case "integer":
                return next((int(n) for n in self._take_numbers() if "." not in n), None)
            case "number":
                return next((float(n) for n in self._take_numbers()), None)
            case "boolean":
                return False
            case "string":
                return self._texts.pop(0) if self._texts else None
            case _:
                return None

    def _take_numbers(self) -> list[str]:
        first, self._numbers = self._numbers[:1], self._numbers[1:]
        return first
