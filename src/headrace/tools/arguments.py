"""From the model's JSON to the arguments of a function, or to words that the model can use.

What fits is what JSON Schema says: 3.0 is an integer, "3" and true are none; nothing is
left out in silence. Types of pydantic's follow pydantic's own rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from headrace.events import JSONObject
from headrace.tools.function import Parameter
from headrace.tools.pydantic_type import PydanticType, is_pydantic
from headrace.tools.schema import alternatives, schema_of, strangers
from headrace.wire.json.value import as_list

_MAX_CHARS = 2_000
_MAX_NAMES = 10
_MAX_NAME_CHARS = 64
# Beyond it a float has lost the number that was meant.
_MAX_EXACT = 2**53
_PATH = re.compile(r" - at (?:`(?P<key>key)` in )?`\$?(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")


class ArgumentsInvalid(ValueError):
    """The model's arguments do not fit; the message is for the model."""


class Arguments:
    """Reads the arguments of one tool."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._schema = schema_of(parameters)
        self._definitions: JSONObject = self._schema.get("$defs", {})
        self._theirs = {
            parameter.name: PydanticType(parameter.type)
            for parameter in parameters
            if is_pydantic(parameter.type)
        }

    def read(self, given: Any) -> dict[str, Any]:
        """The arguments, of the types that the function asks for; those that were not given
        are left to its defaults. Raises `ArgumentsInvalid`, which says all that is wrong."""
        if not isinstance(given, dict):
            raise ArgumentsInvalid("expected a JSON object with the arguments by name")
        fields = _copied(cast("dict[str, Any]", given))
        complaints = self._misnamed(fields)
        arguments: dict[str, Any] = {}
        for name in self._parameters.keys() & fields.keys():
            try:
                arguments[name] = self._converted(name, fields[name])
            except ArgumentsInvalid as error:
                complaints.append(str(error))
        if complaints:
            raise ArgumentsInvalid("; ".join(complaints)[:_MAX_CHARS])
        return arguments

    def _misnamed(self, fields: dict[str, Any]) -> list[str]:
        known = self._parameters
        missing = [name for name, p in known.items() if p.is_required and name not in fields]
        unknown = [name for name in fields if name not in known]
        if not missing and not unknown:
            return []
        told = [f"missing: {_listed(missing)}"] if missing else []
        told += [f"unknown: {_listed(unknown)}"] if unknown else []
        return [*told, f"the arguments are: {', '.join(known) or 'none'}"]

    def _converted(self, name: str, value: Any) -> Any:
        theirs = self._theirs.get(name)
        try:
            if theirs is not None:
                return theirs.convert(value)
            made = _lenient(value, self._parameters[name].type)
        except msgspec.ValidationError as error:
            raise ArgumentsInvalid(self._told(name, str(error))) from None
        except (ValueError, TypeError, OverflowError) as error:
            raise ArgumentsInvalid(f"{name}: {error}") from None
        schema = self._schema["properties"][name]
        unknown = strangers(value, schema, self._definitions, name)
        if unknown:
            raise ArgumentsInvalid(f"unknown: {_listed(unknown)}")
        return made

    def _told(self, name: str, complaint: str) -> str:
        """msgspec's complaint, as a model would say it."""
        match = _PATH.search(complaint)
        path = match["path"] if match is not None else ""
        where = f"a key of {name}{path}" if match is not None and match["key"] else name + path
        said = _PATH.sub("", complaint).replace("`", "")
        choices = self._choices(name, path) if said.startswith("Invalid") else []
        told = f"{where}: {said[:1].lower()}{said[1:]}"
        return f"{told}, expected one of {_listed(choices)}" if choices else told

    def _choices(self, name: str, path: str) -> list[str]:
        """What may stand there, where that can be counted."""
        schemas: list[JSONObject] = [self._schema["properties"][name]]
        for field, _ in _STEP.findall(path):
            schemas = [
                inner
                for schema in schemas
                for one in alternatives(schema, self._definitions)
                for inner in _inside(one, field)
            ]
        values = [
            value
            for schema in schemas
            for one in alternatives(schema, self._definitions)
            for value in one.get("enum", ())
        ]
        return [msgspec.json.encode(value).decode() for value in values]


def _inside(schema: JSONObject, field: str) -> list[JSONObject]:
    found: list[Any] = [schema.get("properties", {}).get(field)] if field else []
    found += [] if field else [schema.get("items"), schema.get("additionalProperties")]
    return [inner for inner in found if isinstance(inner, dict)]


def _copied(fields: dict[str, Any]) -> dict[str, Any]:
    """So that a tool that changes what it was given changes no record."""
    try:
        return cast("dict[str, Any]", msgspec.to_builtins(fields))
    except (TypeError, RecursionError) as error:
        raise ArgumentsInvalid(f"expected JSON: {error}") from None


def _lenient(value: Any, kind: Any) -> Any:
    """The value as msgspec reads it, which knows no integer 3.0; JSON Schema does."""
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError:
        whole = _whole(value)
        if whole is value:
            raise
        try:
            return msgspec.convert(whole, kind, str_keys=True)
        except msgspec.ValidationError:
            pass
        raise


def _whole(value: Any) -> Any:
    """The value with integers for floats that are whole; itself where there are none."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _MAX_EXACT else value
    if isinstance(value, list):
        entries = as_list(cast("object", value))
        made = [_whole(entry) for entry in entries]
        return made if any(a is not b for a, b in zip(made, entries, strict=True)) else entries
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        changed = {name: _whole(entry) for name, entry in fields.items()}
        return changed if any(changed[name] is not fields[name] for name in fields) else fields
    return value


def _listed(names: Iterable[str]) -> str:
    """Names that may be anybody's, so neither many nor long ones."""
    shown = list(names)
    words = [
        name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}…" for name in shown
    ]
    more = f" and {len(words) - _MAX_NAMES} more" if len(words) > _MAX_NAMES else ""
    return ", ".join(words[:_MAX_NAMES]) + more
