"""Calls of Bedrock agents that the caller shall run: functions, or operations of an API."""

from __future__ import annotations

from typing import Any

from headrace.wire.json.payload import NotJSON, parse
from headrace.wire.json.value import as_object, as_objects, as_text

# Parameters come as text, with the type that the text stands for.
_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def find_request(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what is asked for: the only field of an invocation input."""
    known = ("functionInvocationInput", "apiInvocationInput")
    return next((as_object(entry[name]) for name in known if as_object(entry.get(name))), entry)


def find_name(request: dict[str, Any]) -> str | None:
    """Return the name of the function, or method and path of the operation."""
    function = as_text(request.get("function"))
    words = (as_text(request.get("httpMethod")), as_text(request.get("apiPath")))
    return function or " ".join(filter(None, words)) or None


def create_arguments(request: dict[str, Any], max_depth: int) -> dict[str, Any]:
    """Return the parameters and the fields of the request body by name."""
    parameters = as_objects(request.get("parameters"))
    content = as_object(as_object(request.get("requestBody")).get("content"))
    for body in content.values():
        parameters = parameters + as_objects(as_object(body).get("properties"))
    return {
        name: _convert(parameter, max_depth)
        for parameter in parameters
        if isinstance(name := parameter.get("name"), str)
    }


def _convert(parameter: dict[str, Any], max_depth: int) -> Any:
    value, kind = parameter.get("value"), as_text(parameter.get("type"))
    types = _TYPES.get(kind or "")
    if types is None or not isinstance(value, str):
        return value
    try:
        parsed = parse(value.encode(), max_depth)
    except NotJSON:
        return value
    is_flag = isinstance(parsed, bool)
    return parsed if isinstance(parsed, types) and is_flag == (kind == "boolean") else value
