"""Which tools the rehearsal model calls, and with which arguments."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.rehearsal.free_arguments import arguments_from
from headrace.rehearsal.heard import Heard, HeardTool
from headrace.rehearsal.reading import Reading
from headrace.wire.json.value import as_list, as_object, as_text

Kind: TypeAlias = Literal["calculator", "clock", "notepad"]
# Names by which the tools of each kind are known.
_NAMES: dict[Kind, tuple[str, ...]] = {
    "calculator": ("calculator", "calculate"),
    "clock": ("clock", "current_time"),
    "notepad": ("notepad", "note_pad", "notes"),
}
_ALL: tuple[Kind, ...] = ("calculator", "clock", "notepad")
_MEANINGS: dict[str, str] = {
    **dict.fromkeys(("expression", "formula", "input", "query"), "expression"),
    **dict.fromkeys(("title", "name", "subject", "heading"), "title"),
    **dict.fromkeys(("content", "text", "body", "markdown", "note"), "content"),
}
_DEFAULT_SUM = "6 * 7"


class ToolUse(msgspec.Struct, frozen=True):
    """One call to make."""

    name: str
    args: dict[str, Any]
    purpose: str
    """What the call is for; continues "I need to"."""


def plan_calls(reading: Reading, heard: Heard) -> list[ToolUse]:
    """Return the calls that help with the message, of the tools that are offered."""
    kinds = _helpful(reading)
    if reading.wishes & {"parallel", "think again"}:
        kinds.extend(kind for kind in _ALL if kind not in kinds)
    uses: list[ToolUse] = []
    for kind in kinds:
        tool = next((tool for tool in heard.tools if tool.name in _NAMES[kind]), None)
        uses += [] if tool is None else _uses(kind, tool, reading)
    known = {name for names in _NAMES.values() for name in names}
    for tool in heard.tools:
        arguments = None if tool.name in known else arguments_from(tool, reading)
        if arguments is not None:
            uses.append(ToolUse(tool.name, arguments, f"use {tool.name.replace('_', ' ')}"))
    return uses


def _helpful(reading: Reading) -> list[Kind]:
    helps: list[tuple[Kind, bool]] = [
        ("calculator", bool(reading.sums)),
        ("clock", reading.asks_time),
        ("notepad", reading.note is not None),
    ]
    return [kind for kind, does_help in helps if does_help]


def _uses(kind: Kind, tool: HeardTool, reading: Reading) -> list[ToolUse]:
    match kind:
        case "calculator":
            return [
                _use(tool, {"expression": entry}, f"work out {entry}")
                for entry in reading.sums or (_DEFAULT_SUM,)
            ]
        case "clock":
            return [_use(tool, {}, "look at the clock")]
        case "notepad":
            title = (reading.note or "A rehearsal note").strip()
            title = title[:1].upper() + title[1:]
            note = {"title": title, "content": draft(title, reading)}
            return [_use(tool, note, f"put “{title}” on the note pad")]


def _use(tool: HeardTool, meant: dict[str, str], purpose: str) -> ToolUse:
    return ToolUse(tool.name, _fill_arguments(tool, meant), purpose)


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
