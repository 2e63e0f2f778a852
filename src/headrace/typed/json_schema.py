"""JSON schemas for answers: always an object at the top."""

from __future__ import annotations

from typing import Any, cast

from headrace.events import JSONObject
from headrace.tools.schema import REFERENCE
from headrace.wire.json.value import as_list, as_object

VALUE_KEY = "value"
"""The only field of the object around an answer that is no object itself."""


def inline_root(schema: JSONObject) -> JSONObject:
    """Replace a reference at the top by what it refers to, and drop definitions that are no longer
    used."""
    definitions = as_object(schema.get("$defs"))
    seen: set[str] = set()
    while "$ref" in schema and schema["$ref"] not in seen:
        seen.add(schema["$ref"])
        name = str(schema["$ref"]).removeprefix(REFERENCE)
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = as_object(definitions.get(name)) | rest
    return _prune_definitions(schema)


def _prune_definitions(schema: JSONObject) -> JSONObject:
    """Drop the definitions that nothing refers to."""
    definitions = as_object(schema.get("$defs"))
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    used: set[str] = set()
    names = _references(rest)
    while names:
        name = names.pop()
        if name not in used:
            used.add(name)
            names += _references(definitions.get(name))
    kept = {name: value for name, value in definitions.items() if name in used}
    return rest | ({"$defs": kept} if kept else {})


def wrap_value(schema: JSONObject) -> JSONObject:
    """Return the schema of an object with one field, `value`, that has this schema."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    wrapped: JSONObject = {
        "type": "object",
        "properties": {VALUE_KEY: inner},
        "required": [VALUE_KEY],
        "additionalProperties": False,
    }
    return wrapped | ({"$defs": schema["$defs"]} if "$defs" in schema else {})


def is_recursive(schema: JSONObject) -> bool:
    """Return whether a definition of the schema refers to itself, directly or not."""
    uses = {
        name: set(_references(definition))
        for name, definition in as_object(schema.get("$defs")).items()
    }
    # As many rounds as there are definitions reach everything that can be reached.
    for _ in uses:
        for name, direct in uses.items():
            uses[name] = direct.union(*(uses.get(other, set()) for other in direct))
    return any(name in reached for name, reached in uses.items())


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for entry in as_list(cast("object", schema)) for name in _references(entry)]
    fields = as_object(schema)
    names = [name for value in fields.values() for name in _references(value)]
    reference = fields.get("$ref")
    return [*names, reference.removeprefix(REFERENCE)] if isinstance(reference, str) else names
