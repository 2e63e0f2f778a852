"""Changes JSON schemas from within: one function for every nested schema."""

from __future__ import annotations

from collections.abc import Callable

from headrace.events import JSONObject

# Keywords under which a schema holds other schemas: as the value, in a list, or by name.
_ONE = ("items", "additionalProperties", "contains", "not", "propertyNames")
_MANY = ("anyOf", "allOf", "oneOf", "prefixItems")
_NAMED = ("properties", "$defs", "patternProperties")


def transform(schema: JSONObject, change: Callable[[JSONObject], JSONObject]) -> JSONObject:
    """Return a copy with `change` applied to every nested schema, innermost first."""
    copy = dict(schema)
    for key in _ONE:
        if isinstance(copy.get(key), dict):
            copy[key] = transform(copy[key], change)
    for key in _MANY:
        if key in copy:
            copy[key] = [transform(inner, change) for inner in copy[key]]
    for key in _NAMED:
        if key in copy:
            copy[key] = {name: transform(inner, change) for name, inner in copy[key].items()}
    return change(copy)
