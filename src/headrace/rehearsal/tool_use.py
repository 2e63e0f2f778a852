"""Which tools the rehearsal model calls, and with what."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.rehearsal.heard import Heard, HeardTool
from headrace.rehearsal.reading import Reading
from headrace.wire.json.value import as_list, as_object, as_text

Kind: TypeAlias = Literal["calculator", "clock", "notepad"]
# By these names tools are known; any other is left alone.
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

    kind: Kind
    name: str
    args: dict[str, Any]
    purpose: str
    """What for, to follow on "I need to"."""


def planned(reading: Reading, heard: Heard) -> list[ToolUse]:
    """The calls that help with the message, of tools that are offered."""
    kinds = _helpful(reading)
    if reading.wishes & {"parallel", "think again"}:
        kinds.extend(kind for kind in _ALL if kind not in kinds)
    uses: list[ToolUse] = []
    for kind in kinds:
        tool = next((tool for tool in heard.tools if tool.name in _NAMES[kind]), None)
        uses += [] if tool is None else _uses(kind, tool, reading)
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
                _use(kind, tool, {"expression": entry}, f"work out {entry}")
                for entry in reading.sums or (_DEFAULT_SUM,)
            ]
        case "clock":
            return [_use(kind, tool, {}, "look at the clock")]
        case "notepad":
            title = (reading.note or "A rehearsal note").strip()
            title = title[:1].upper() + title[1:]
            note = {"title": title, "content": draft(title, reading)}
            return [_use(kind, tool, note, f"put “{title}” on the note pad")]


def _use(kind: Kind, tool: HeardTool, meant: dict[str, str], purpose: str) -> ToolUse:
    return ToolUse(kind, tool.name, _filled(tool, meant), purpose)


def _filled(tool: HeardTool, meant: dict[str, str]) -> dict[str, Any]:
    """What is meant, under the names that the tool's schema has for it."""
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
    """A value for a field that must be there and means nothing to us."""
    choices = as_list(schema.get("enum"))
    if choices:
        return choices[0]
    empty: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
    return empty.get(str(schema.get("type")), next(iter(meant.values()), ""))


def draft(title: str, reading: Reading) -> str:
    """A note that is made of the message's own words."""
    points = [word for word in dict.fromkeys(reading.words) if len(word) > 3][:5]
    rows = "\n".join(f"- [ ] {point}" for point in points)
    return (
        f"# {title}\n\nAsked for: “{reading.text[:200]}”\n\n{rows}\n\n"
        "*Written by the rehearsal model: a place for words, not the words themselves.*\n"
    )
