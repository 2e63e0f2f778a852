"""From parameters to the JSON schema that a provider is told.

It holds all that it refers to, is an object at its top, and allows no fields but its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

import msgspec

from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.tools.function import Parameter
from headrace.tools.pydantic_type import PydanticType, is_pydantic
from headrace.tools.result import NoResult, plain
from headrace.wire.json.value import as_list

_REFERENCE = "#/$defs/"
# A schema may hold schemas here: as the value, in a list, or under names.
_ONE = ("items", "additionalProperties", "contains", "not", "propertyNames")
_MANY = ("anyOf", "allOf", "oneOf", "prefixItems")
_NAMED = ("properties", "$defs", "patternProperties")


def schema_of(parameters: Sequence[Parameter], *, is_strict: bool = False) -> JSONObject:
    """The schema of the arguments. Raises `UsageError` for a type that has none.

    A strict one is what providers take that write arguments by the schema: every field is
    required, and nothing has a default.
    """
    properties, definitions = _types(parameters)
    for parameter in parameters:
        properties[parameter.name] |= _remarks(parameter)
    schema: JSONObject = {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in parameters if parameter.is_required],
        "additionalProperties": False,
    }
    if definitions:
        schema["$defs"] = definitions
    return _mapped(schema, _strict) if is_strict else schema


def _types(parameters: Sequence[Parameter]) -> tuple[JSONObject, JSONObject]:
    """The schema of each parameter by its name, and what all of them refer to."""
    ours = [parameter for parameter in parameters if not is_pydantic(parameter.type)]
    # Together, so that two types of one name get two names.
    made, definitions = _components(ours)
    found: JSONObject = dict(zip((parameter.name for parameter in ours), made, strict=True))
    for parameter in parameters:
        if parameter.name not in found:
            schema, more = _theirs(parameter)
            found[parameter.name] = _merged(schema, more, definitions)
    return {parameter.name: dict(found[parameter.name]) for parameter in parameters}, definitions


def _components(parameters: list[Parameter]) -> tuple[list[JSONObject], JSONObject]:
    try:
        made, definitions = msgspec.json.schema_components(
            [parameter.type for parameter in parameters], ref_template=_REFERENCE + "{name}"
        )
    except TypeError as error:
        if len(parameters) > 1:  # which of them?
            for parameter in parameters:
                _components([parameter])
        why = str(error).replace("\n", " ").partition("type <")[0]
        told = f"{parameters[0].name}: {parameters[0].type} has no JSON schema: {why}"
        raise UsageError(f"a tool's argument cannot be read: {told.strip()}") from None
    return [_mapped(one, _closed) for one in made], {
        name: _mapped(one, _closed) for name, one in definitions.items()
    }


def _theirs(parameter: Parameter) -> tuple[JSONObject, JSONObject]:
    try:
        return PydanticType(parameter.type).schema()
    except Exception as error:  # noqa: BLE001 (pydantic's errors have no common root of ours)
        told = f"{parameter.name}: {parameter.type} has no JSON schema: {error}"
    raise UsageError(f"a tool's argument cannot be read: {told}")


def _merged(schema: JSONObject, more: JSONObject, definitions: JSONObject) -> JSONObject:
    """The schema, its definitions put to the others; where a name is taken by something
    else they get another."""
    names: dict[str, str] = {}
    for name, definition in more.items():
        new, count = name, 2
        while new in definitions and definitions[new] != definition:
            new, count = f"{name}_{count}", count + 1
        names[_REFERENCE + name] = _REFERENCE + new

    def renamed(one: JSONObject) -> JSONObject:
        return one | ({"$ref": names.get(one["$ref"], one["$ref"])} if "$ref" in one else {})

    for name, definition in more.items():
        definitions[names[_REFERENCE + name].removeprefix(_REFERENCE)] = _mapped(
            definition, renamed
        )
    return _mapped(schema, renamed)


def _remarks(parameter: Parameter) -> JSONObject:
    remarks: JSONObject = {}
    if parameter.description:
        remarks["description"] = parameter.description
    if not parameter.is_required:
        with suppress(NoResult):  # then it is applied all the same
            remarks["default"] = plain(parameter.default)
    return remarks


def _closed(schema: JSONObject) -> JSONObject:
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    choices = as_list(schema.get("enum"))
    for kind, name in ((str, "string"), (int, "integer")):
        if "type" not in schema and choices and all(type(value) is kind for value in choices):
            schema["type"] = name
    return schema


def _strict(schema: JSONObject) -> JSONObject:
    schema.pop("default", None)
    if "properties" in schema:
        schema |= {"required": list(schema["properties"]), "additionalProperties": False}
    elif not schema or schema.get("type") == "object":
        raise UsageError("a strict tool's argument may not be of any shape: name its fields")
    if "$ref" in schema and len(schema) > 1:
        reference = {"$ref": schema.pop("$ref")}
        schema["anyOf"] = [reference]
    return schema


def _mapped(schema: JSONObject, change: Callable[[JSONObject], JSONObject]) -> JSONObject:
    """A copy in which every schema, the innermost first, has been changed."""
    made = dict(schema)
    for word in _ONE:
        if isinstance(made.get(word), dict):
            made[word] = _mapped(made[word], change)
    for word in _MANY:
        if word in made:
            made[word] = [_mapped(one, change) for one in made[word]]
    for word in _NAMED:
        if word in made:
            made[word] = {name: _mapped(one, change) for name, one in made[word].items()}
    return change(made)


# --- looking things up --------------------------------------------------------------


def alternatives(schema: JSONObject, definitions: JSONObject) -> Iterator[JSONObject]:
    """What a value may be, references and unions taken apart."""
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(_REFERENCE)
        yield from alternatives(definitions.get(name, {}), definitions)
    elif "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from alternatives(one, definitions)
    else:
        yield schema


def strangers(value: Any, schema: JSONObject, definitions: JSONObject, at: str) -> list[str]:
    """Where a value has fields that its schema does not know. msgspec would leave them out,
    and the model would never hear of it."""
    if not isinstance(value, dict | list):
        return []
    word = "properties" if isinstance(value, dict) else "items"
    fitting = [one for one in alternatives(schema, definitions) if _has(one, word)]
    if len(fitting) != 1:  # none to hold it to, or a tagged union
        return []
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return list(_unknown_fields(fields, fitting[0], definitions, at))
    return [
        found
        for number, entry in enumerate(as_list(cast("object", value)))
        for found in strangers(entry, _entry(fitting[0], number), definitions, f"{at}[{number}]")
    ]


def _has(schema: JSONObject, word: str) -> bool:
    if word == "items":
        return isinstance(schema.get("items"), dict) or "prefixItems" in schema
    return word in schema or isinstance(schema.get("additionalProperties"), dict)


def _entry(schema: JSONObject, number: int) -> JSONObject:
    first = schema.get("prefixItems", [])
    if number < len(first):
        return cast("JSONObject", first[number])
    items = schema.get("items")
    return cast("JSONObject", items) if isinstance(items, dict) else {}


def _unknown_fields(
    fields: dict[str, Any], schema: JSONObject, definitions: JSONObject, at: str
) -> Iterator[str]:
    known: JSONObject = schema.get("properties", {})
    rest = schema.get("additionalProperties")
    for name, value in fields.items():
        if name in known:
            yield from strangers(value, known[name], definitions, f"{at}.{name}")
        elif rest is False:
            yield f"{at}.{name}"
        elif isinstance(rest, dict):
            yield from strangers(value, cast("JSONObject", rest), definitions, f"{at}.{name}")
