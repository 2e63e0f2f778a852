"""Arguments for any tool that a message names, taken from the words of the message."""

from __future__ import annotations

import re
from typing import Any

from headrace.rehearsal.heard import HeardTool
from headrace.rehearsal.reading import Reading
from headrace.wire.json.value import as_list, as_object, as_text

_MIN_NAME_CHARS = 3
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_QUOTED = re.compile(r"[\"“]([^\"”]{1,80})[\"”]")
# A name: capitalized words that do not open the sentence, or what a preposition introduces.
_NAME = re.compile(r"(?<=[a-z,:] )(?:[A-Z][\w'-]*)(?: [A-Z][\w'-]*){0,3}")
_AFTER_PREPOSITION = re.compile(r"\b(?:of|for|in|at|about|to|from)\s+(?:the\s+)?([\w'-]{2,40})")


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
