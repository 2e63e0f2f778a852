"""Values that match a JSON schema, made from the words and numbers of a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from headrace.events import JSONObject
from headrace.wire.json.value import as_list, as_object, as_objects

_NAME = re.compile(r"\b[A-Z]\w{2,40}")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_REFERENCE = "#/$defs/"
_MAX_DEPTH = 8
_MAX_TEXTS = 100


class SchemaFiller:
    """Fills schemas with what a message says: its names for texts, its numbers for numbers."""

    def __init__(self, schema: JSONObject, message: str) -> None:
        self._schema = schema
        self._definitions = as_object(schema.get("$defs"))
        # The first word of a sentence is no name.
        names = [match[0] for match in _NAME.finditer(message) if match.start() > 0]
        numbers = [float(match[0]) for match in _NUMBER.finditer(message)]
        self._texts: Iterator[str] = cycle(names[:_MAX_TEXTS] or ["rehearsal"])
        self._numbers: Iterator[float] = cycle(numbers[:_MAX_TEXTS] or [1.0])

    def fill(self) -> Any:
        """Return a value that matches the schema, as far as types, fields and choices go."""
        return self._value(self._schema, 0)

    def _value(self, schema: JSONObject, depth: int) -> Any:
        if "$ref" in schema:
            name = str(schema["$ref"]).removeprefix(_REFERENCE)
            return self._value(as_object(self._definitions.get(name)), depth + 1)
        for choices in (schema.get("enum"), schema.get("const") and [schema["const"]]):
            if as_list(choices):
                return as_list(choices)[0]
        for key in ("anyOf", "oneOf", "allOf"):
            options = as_objects(schema.get(key))
            if options:
                is_deep = depth >= _MAX_DEPTH
                return self._value(options[-1 if is_deep else 0], depth + 1)
        return self._plain_value(schema, depth)

    def _plain_value(self, schema: JSONObject, depth: int) -> Any:
        kinds = as_list(schema.get("type")) or [schema.get("type")]
        match kinds[0]:
            case "object":
                properties = as_object(schema.get("properties"))
                required = as_list(schema.get("required"))
                return {
                    name: self._value(as_object(inner), depth + 1)
                    for name, inner in properties.items()
                    if depth < _MAX_DEPTH or name in required
                }
            case "array":
                count = max(int(schema.get("minItems", 0)), depth < _MAX_DEPTH)
                items = as_object(schema.get("items"))
                return [self._value(items, depth + 1) for _ in range(min(count, _MAX_TEXTS))]
            case "integer":
                return int(self._number(schema))
            case "number":
                return self._number(schema)
            case "boolean":
                return True
            case "null":
                return None
            case _:
                return next(self._texts)

    def _number(self, schema: JSONObject) -> float:
        number = next(self._numbers)
        number = max(number, schema.get("minimum", number))
        return float(min(number, schema.get("maximum", number)))
