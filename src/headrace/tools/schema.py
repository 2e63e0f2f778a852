"""The JSON schema of a tool's arguments, as a provider gets it.

The schema is self-contained, an object at the top, and allows no additional fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

import msgspec

from headrace.encoders.json_schema import transform
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.tools.function import Parameter
from headrace.tools.pydantic_type import PydanticType, is_pydantic
from headrace.tools.result import InvalidResult, to_json_value
from headrace.wire.json.value import as_list

REFERENCE = "#/$defs/"
# Keywords that providers cannot enforce while the model writes.
_NOT_STRICT = ("prefixItems", "patternProperties", "propertyNames", "not", "allOf", "contains")


def schema_of(parameters: Sequence[Parameter], *, is_strict: bool = False) -> JSONObject:
    """Return the schema of the arguments. Raises `UsageError` for a type without a schema.

    A strict schema is for providers that constrain the model to it: every field is required,
    and there are no defaults.
    """
    properties, definitions = _properties(parameters)
    for parameter in parameters:
        properties[parameter.name] |= _annotations(parameter)
    schema: JSONObject = {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in parameters if parameter.is_required],
        "additionalProperties": False,
    }
    if definitions:
        schema["$defs"] = definitions
    return make_strict(schema) if is_strict else schema


def make_strict(schema: JSONObject) -> JSONObject:
    """Return the schema as providers want it that constrain the model to it: every field is
    required, there are no defaults, and no object takes other fields. Raises `UsageError` if that
    is impossible."""
    return transform(schema, _make_strict)


def _properties(parameters: Sequence[Parameter]) -> tuple[JSONObject, JSONObject]:
    """Return the schema of each parameter by name, and the definitions they refer to."""
    ours = [parameter for parameter in parameters if not is_pydantic(parameter.type)]
    # All at once, so that two types with the same name get different definitions.
    components, definitions = _msgspec_schemas(ours)
    schemas: JSONObject = dict(zip((p.name for p in ours), components, strict=True))
    for parameter in parameters:
        if parameter.name not in schemas:
            schema, more = _pydantic_schema(parameter)
            schemas[parameter.name] = merge_definitions(schema, more, definitions)
    return {p.name: dict(schemas[p.name]) for p in parameters}, definitions


def _msgspec_schemas(parameters: list[Parameter]) -> tuple[list[JSONObject], JSONObject]:
    try:
        schemas, definitions = msgspec.json.schema_components(
            [parameter.type for parameter in parameters], ref_template=REFERENCE + "{name}"
        )
    except TypeError as error:
        if len(parameters) > 1:  # find the one that raises
            for parameter in parameters:
                _msgspec_schemas([parameter])
        why = str(error).replace("\n", " ").partition("type <")[0]
        raise NoSchema(parameters[0], why) from None
    return [transform(schema, _forbid_additional) for schema in schemas], {
        name: transform(schema, _forbid_additional) for name, schema in definitions.items()
    }


def _pydantic_schema(parameter: Parameter) -> tuple[JSONObject, JSONObject]:
    try:
        return PydanticType(parameter.type).schema()
    except Exception as error:  # noqa: BLE001 (pydantic's errors have no common base class)
        why = str(error)
    raise NoSchema(parameter, why)


class NoSchema(UsageError):
    """A type has no JSON schema. `reason` says why, without the name of the parameter."""

    def __init__(self, parameter: Parameter, why: str) -> None:
        self.reason = f"{parameter.type} has no JSON schema: {why}".strip()
        super().__init__(f"a tool's argument cannot be read: {parameter.name}: {self.reason}")


def merge_definitions(schema: JSONObject, more: JSONObject, definitions: JSONObject) -> JSONObject:
    """Add the definitions `more`, under new names where a name is taken by another
    definition. Returns the schema with its references renamed accordingly."""
    names: dict[str, str] = {}
    for name, definition in more.items():
        new, count = name, 2
        while new in definitions and definitions[new] != definition:
            new, count = f"{name}_{count}", count + 1
        names[REFERENCE + name] = REFERENCE + new

    def rename(inner: JSONObject) -> JSONObject:
        if "$ref" not in inner:
            return inner
        return inner | {"$ref": names.get(inner["$ref"], inner["$ref"])}

    for name, definition in more.items():
        new = names[REFERENCE + name].removeprefix(REFERENCE)
        definitions[new] = transform(definition, rename)
    return transform(schema, rename)


def _annotations(parameter: Parameter) -> JSONObject:
    annotations: JSONObject = {}
    if parameter.description:
        annotations["description"] = parameter.description
    if not parameter.is_required:
        with suppress(InvalidResult):  # the default applies even if it cannot be described
            annotations["default"] = to_json_value(parameter.default)
    return annotations


def _forbid_additional(schema: JSONObject) -> JSONObject:
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    choices = as_list(schema.get("enum"))
    for kind, name in ((str, "string"), (int, "integer")):
        if "type" not in schema and choices and all(type(value) is kind for value in choices):
            schema["type"] = name
    return schema


def _make_strict(schema: JSONObject) -> JSONObject:
    schema.pop("default", None)
    schema.pop("discriminator", None)
    if "oneOf" in schema:
        schema["anyOf"] = schema.pop("oneOf")
    refused = [keyword for keyword in _NOT_STRICT if keyword in schema]
    if refused:
        raise UsageError(f"a strict schema may not have {refused[0]!r}")
    is_open = schema.get("additionalProperties", False) is not False
    if "properties" in schema and not is_open:
        schema |= {"required": list(schema["properties"]), "additionalProperties": False}
    elif not schema or schema.get("type") == "object":
        raise UsageError("a strict tool's argument may not be of any shape: name its fields")
    if "$ref" in schema and len(schema) > 1:
        reference = {"$ref": schema.pop("$ref")}
        schema["anyOf"] = [reference]
    return schema


# --- lookup -----------------------------------------------------------------------


def alternatives(schema: JSONObject, definitions: JSONObject) -> Iterator[JSONObject]:
    """Iterate over the schemas that a value may match, with references and unions resolved."""
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(REFERENCE)
        yield from alternatives(definitions.get(name, {}), definitions)
    elif "anyOf" in schema:
        for inner in schema["anyOf"]:
            yield from alternatives(inner, definitions)
    else:
        yield schema


def unknown_fields(value: Any, schema: JSONObject, definitions: JSONObject, at: str) -> list[str]:
    """Return the paths of fields that the schema does not have. msgspec would drop them
    silently, and the model would never learn of it."""
    if not isinstance(value, dict | list):
        return []
    key = "properties" if isinstance(value, dict) else "items"
    matching = [s for s in alternatives(schema, definitions) if _describes(s, key)]
    if len(matching) != 1:  # nothing to compare with, or a tagged union
        return []
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return list(_unknown_in_object(fields, matching[0], definitions, at))
    return [
        path
        for number, entry in enumerate(as_list(cast("object", value)))
        for path in unknown_fields(
            entry, _schema_of_entry(matching[0], number), definitions, f"{at}[{number}]"
        )
    ]


def _describes(schema: JSONObject, key: str) -> bool:
    if key == "items":
        return isinstance(schema.get("items"), dict) or "prefixItems" in schema
    return key in schema or isinstance(schema.get("additionalProperties"), dict)


def _schema_of_entry(schema: JSONObject, number: int) -> JSONObject:
    first = schema.get("prefixItems", [])
    if number < len(first):
        return cast("JSONObject", first[number])
    items = schema.get("items")
    return cast("JSONObject", items) if isinstance(items, dict) else {}


def _unknown_in_object(
    fields: dict[str, Any], schema: JSONObject, definitions: JSONObject, at: str
) -> Iterator[str]:
    known: JSONObject = schema.get("properties", {})
    rest = schema.get("additionalProperties")
    for name, value in fields.items():
        if name in known:
            yield from unknown_fields(value, known[name], definitions, f"{at}.{name}")
        elif rest is False:
            yield f"{at}.{name}"
        elif isinstance(rest, dict):
            yield from unknown_fields(value, cast("JSONObject", rest), definitions, f"{at}.{name}")
