"""Convert the JSON that a model wrote to the arguments of a function.

JSON Schema decides what is valid: 3.0 is an integer, "3" and true are not, and no field is
dropped silently. pydantic types follow pydantic's rules. Errors are written for the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, cast

import msgspec

from headrace.events import JSONObject
from headrace.tools.function import Parameter
from headrace.tools.pydantic_type import PydanticType, is_pydantic
from headrace.tools.schema import alternatives, schema_of, unknown_fields
from headrace.wire.json.value import as_list

_MAX_CHARS = 2_000
_MAX_NAMES = 10
_MAX_NAME_CHARS = 64
# Larger floats no longer hold the exact integer.
_MAX_EXACT = 2**53
_PATH = re.compile(r" - at (?:`(?P<key>key)` in )?`\$?(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")


class ArgumentsInvalid(ValueError):
    """The arguments of a call are invalid; the message is for the model."""


class Arguments:
    """Validates and converts the arguments of one tool."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._schema = schema_of(parameters)
        self._definitions: JSONObject = self._schema.get("$defs", {})
        self._pydantic_types = {
            parameter.name: PydanticType(parameter.type)
            for parameter in parameters
            if is_pydantic(parameter.type)
        }

    def read(self, given: Any) -> dict[str, Any]:
        """Convert the arguments to the types of the function's parameters. Missing optional ones
        are left to the defaults. Raises `ArgumentsInvalid`, which lists all errors."""
        if not isinstance(given, dict):
            raise ArgumentsInvalid("expected a JSON object with the arguments by name")
        fields = _copy_json(cast("dict[str, Any]", given))
        errors = self._name_errors(fields)
        arguments: dict[str, Any] = {}
        for name in self._parameters.keys() & fields.keys():
            try:
                arguments[name] = self._convert(name, fields[name])
            except ArgumentsInvalid as error:
                errors.append(str(error))
        if errors:
            raise ArgumentsInvalid("; ".join(errors)[:_MAX_CHARS])
        return arguments

    def _name_errors(self, fields: dict[str, Any]) -> list[str]:
        known = self._parameters
        missing = [name for name, p in known.items() if p.is_required and name not in fields]
        unknown = [name for name in fields if name not in known]
        if not missing and not unknown:
            return []
        errors = [f"missing: {_join_names(missing)}"] if missing else []
        errors += [f"unknown: {_join_names(unknown)}"] if unknown else []
        return [*errors, f"the arguments are: {', '.join(known) or 'none'}"]

    def _convert(self, name: str, value: Any) -> Any:
        pydantic_type = self._pydantic_types.get(name)
        try:
            if pydantic_type is not None:
                return pydantic_type.convert(value)
            argument = _convert_leniently(value, self._parameters[name].type)
        except msgspec.ValidationError as error:
            raise ArgumentsInvalid(self._format_error(name, str(error))) from None
        except (ValueError, TypeError, OverflowError) as error:
            raise ArgumentsInvalid(f"{name}: {error}") from None
        schema = self._schema["properties"][name]
        unknown = unknown_fields(value, schema, self._definitions, name)
        if unknown:
            raise ArgumentsInvalid(f"unknown: {_join_names(unknown)}")
        return argument

    def _format_error(self, name: str, error: str) -> str:
        """Rewrite a msgspec error for the model: the path first, and the allowed values last."""
        match = _PATH.search(error)
        path = match["path"] if match is not None else ""
        where = f"a key of {name}{path}" if match is not None and match["key"] else name + path
        what = _PATH.sub("", error).replace("`", "")
        choices = self._choices(name, path) if what.startswith("Invalid") else []
        text = f"{where}: {what[:1].lower()}{what[1:]}"
        return f"{text}, expected one of {_join_names(choices)}" if choices else text

    def _choices(self, name: str, path: str) -> list[str]:
        """Return the values of the enum at a path, if there is one."""
        schemas: list[JSONObject] = [self._schema["properties"][name]]
        for field, _ in _STEP.findall(path):
            schemas = [
                inner
                for schema in schemas
                for choice in alternatives(schema, self._definitions)
                for inner in _inner_schemas(choice, field)
            ]
        values = [
            value
            for schema in schemas
            for choice in alternatives(schema, self._definitions)
            for value in choice.get("enum", ())
        ]
        return [msgspec.json.encode(value).decode() for value in values]


def _inner_schemas(schema: JSONObject, field: str) -> list[JSONObject]:
    schemas: list[Any] = [schema.get("items"), schema.get("additionalProperties")]
    if field:
        schemas = [schema.get("properties", {}).get(field)]
    return [inner for inner in schemas if isinstance(inner, dict)]


def _copy_json(fields: dict[str, Any]) -> dict[str, Any]:
    """Copy the arguments, so that a tool that changes them does not change a record."""
    try:
        return cast("dict[str, Any]", msgspec.to_builtins(fields))
    except (TypeError, RecursionError) as error:
        raise ArgumentsInvalid(f"expected JSON: {error}") from None


def _convert_leniently(value: Any, kind: Any) -> Any:
    """Convert with msgspec, but accept 3.0 as an integer, as JSON Schema does."""
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError:
        with suppress(msgspec.ValidationError):
            return msgspec.convert(_floats_to_integers(value), kind, str_keys=True)
        raise


def _floats_to_integers(value: Any) -> Any:
    """Return a copy in which whole floats are integers."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _MAX_EXACT else value
    if isinstance(value, list):
        return [_floats_to_integers(entry) for entry in as_list(cast("object", value))]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _floats_to_integers(entry) for name, entry in fields.items()}
    return value


def _join_names(names: Iterable[str]) -> str:
    """Join names of unknown origin: at most `_MAX_NAMES`, and none of them too long."""
    short = [
        name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}…" for name in names
    ]
    more = f" and {len(short) - _MAX_NAMES} more" if len(short) > _MAX_NAMES else ""
    return ", ".join(short[:_MAX_NAMES]) + more
