"""`OutputType`: the type of an answer, its JSON schema, and the conversion of JSON to it."""

from __future__ import annotations

import dataclasses
import re
from importlib import import_module
from itertools import islice
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, is_typeddict

import msgspec

from headrace.errors import LimitExceeded, UsageError
from headrace.events import JSONObject
from headrace.tools.arguments import Arguments, ArgumentsInvalid
from headrace.tools.function import NOTHING, Parameter
from headrace.tools.pydantic_type import is_pydantic
from headrace.tools.schema import NoSchema, make_strict, merge_definitions, schema_of
from headrace.typed.json_schema import VALUE_KEY, inline_root, wrap_value
from headrace.wire.json.payload import NotJSON, parse
from headrace.wire.json_extent import JSONExtent

_ROOT = "answer"
_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_MAX_NAME_CHARS = 64
_MAX_DEPTH = 512
_MAX_PROBLEMS = 20
_MAX_PROBLEM_CHARS = 2_000
_CLOSING = re.compile(r"[}\]]")
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)```", re.DOTALL)


class Mismatch(ValueError):
    """An answer is not of the type that was asked for. The message is written for the model."""


class OutputType:
    """The type of an answer: a msgspec Struct, a dataclass, a TypedDict, a pydantic model, a list
    or union of these, any other annotation with a JSON schema, or a JSON schema as a dict.

    `schema` always describes an object: an answer that is no object is the `value` of one. Raises
    `UsageError` for a type without a JSON schema, and for a JSON schema if `jsonschema` is missing.
    """

    def __init__(self, kind: Any) -> None:
        if kind is str:
            raise UsageError(
                "output_type=str is what an answer without output_type has: read `Result.text`"
            )
        _check_is_type(kind)
        self._reader: _Reader
        if isinstance(kind, dict):
            self._reader = _SchemaReader(cast("JSONObject", kind))
        elif _is_plain_union(kind):
            self._reader = _UnionReader(get_args(kind))
        else:
            self._reader = _TypeReader(kind)
        schema = inline_root(self._reader.schema)
        self.is_wrapped = schema.get("type") != "object" or "properties" not in schema
        self.schema = wrap_value(schema) if self.is_wrapped else schema
        self.strict_schema = _make_strict(self.schema)
        """The schema for providers that enforce it, or None if it cannot be enforced."""
        self.name = _name_of(kind, schema)

    def parse(self, text: str) -> Any:
        """Return the JSON value in the text of an answer, which may be inside a code block or
        surrounded by prose. Raises `Mismatch`."""
        problem = "the answer is empty"
        for candidate in _candidates(text):
            try:
                return parse(candidate.encode(errors="surrogatepass"), _MAX_DEPTH)
            except (NotJSON, LimitExceeded) as error:
                problem = f"the answer is not valid JSON: {error}"
        raise Mismatch(problem)

    def unwrap(self, value: Any) -> Any:
        """Return the answer without the object around it."""
        if self.is_wrapped and isinstance(value, dict) and set(cast("Any", value)) == {VALUE_KEY}:
            return cast("JSONObject", value)[VALUE_KEY]
        return cast("Any", value)

    def convert(self, value: Any) -> Any:
        """Convert the JSON value of an answer to the type. Raises `Mismatch`."""
        try:
            return self._reader.convert(value)
        except ArgumentsInvalid as error:
            raise Mismatch(str(error)[:_MAX_PROBLEM_CHARS]) from None


class _Reader:
    """Describes one kind of type, and converts values to it."""

    schema: JSONObject

    def convert(self, value: Any) -> Any:
        """Convert a JSON value. Raises `Mismatch` or `ArgumentsInvalid`."""
        raise NotImplementedError


class _TypeReader(_Reader):
    """A type that msgspec or pydantic can read, by the rules for the arguments of tools."""

    def __init__(self, kind: Any) -> None:
        parameters = [Parameter(_ROOT, kind, NOTHING, None)]
        try:
            self._arguments = Arguments(parameters)
            whole = schema_of(parameters)
        except UsageError as error:
            why = error.reason if isinstance(error, NoSchema) else error
            raise UsageError(f"{_name(kind)} cannot be an output_type: {why}") from None
        definitions = {"$defs": whole["$defs"]} if "$defs" in whole else {}
        self.schema = whole["properties"][_ROOT] | definitions

    def convert(self, value: Any) -> Any:
        return self._arguments.read({_ROOT: value})[_ROOT]


class _UnionReader(_Reader):
    """A union of several object types that have no tag: the first one that fits is taken."""

    def __init__(self, kinds: tuple[Any, ...]) -> None:
        self._readers = [_TypeReader(kind) for kind in kinds]
        definitions: JSONObject = {}
        choices = [
            merge_definitions(
                {key: value for key, value in reader.schema.items() if key != "$defs"},
                reader.schema.get("$defs", {}),
                definitions,
            )
            for reader in self._readers
        ]
        self.schema = {"anyOf": choices} | ({"$defs": definitions} if definitions else {})

    def convert(self, value: Any) -> Any:
        problems: list[str] = []
        for reader in self._readers:
            try:
                return reader.convert(value)
            except ArgumentsInvalid as error:
                problems.append(str(error))
        raise Mismatch(" — or — ".join(problems)[:_MAX_PROBLEM_CHARS])


class _SchemaReader(_Reader):
    """A JSON schema; values stay what JSON gives."""

    def __init__(self, schema: JSONObject) -> None:
        try:
            library: Any = import_module("jsonschema")
        except ModuleNotFoundError:
            raise UsageError(
                "a JSON schema as output_type needs jsonschema: install headrace[schema]"
            ) from None
        checker = library.validators.validator_for(schema, default=library.Draft202012Validator)
        try:
            checker.check_schema(schema)
        except library.SchemaError as error:
            raise UsageError(f"output_type is no valid JSON schema: {error.message}") from None
        self._checker = checker(schema)
        self.schema = schema

    def convert(self, value: Any) -> Any:
        problems = [
            f"{error.json_path.replace('$', _ROOT, 1)}: {error.message}"
            for error in islice(self._checker.iter_errors(value), _MAX_PROBLEMS)
        ]
        if problems:
            raise Mismatch("; ".join(problems)[:_MAX_PROBLEM_CHARS])
        return value


def _check_is_type(kind: Any) -> None:
    """Raise `UsageError` for the usual values that are no types, and say what to write instead."""
    match kind:
        case [inner] if isinstance(kind, list):
            raise UsageError(f"output_type is a list with a type in it: write list[{_name(inner)}]")
        case list() | tuple():
            names = " | ".join(map(_name, cast("list[Any]", kind)))
            raise UsageError(f"output_type has several types: write them as a union, {names}")
        case str():
            raise UsageError(f"output_type is the text {kind!r:.100}: give the type itself")
        case _ if _is_object_type(type(kind)) and not isinstance(kind, type):
            name = _name(type(kind))
            raise UsageError(f"output_type is an object of {name}: give the type itself")
        case _:
            pass


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or f"{kind!r:.100}"


def _make_strict(schema: JSONObject) -> JSONObject | None:
    try:
        return make_strict(schema)
    except UsageError:
        return None


def _is_plain_union(kind: Any) -> bool:
    """Return whether it is a union of objects that no library can tell apart: they have no tags, or
    some of them are pydantic models and some are not."""
    if get_origin(kind) not in (Union, UnionType):
        return False
    objects = [inner for inner in get_args(kind) if _is_object_type(inner)]
    if is_pydantic(kind):
        return not all(map(is_pydantic, objects))
    try:
        msgspec.json.schema_components([kind])
    except TypeError:
        return len(objects) > 1
    return False


def _is_object_type(kind: Any) -> bool:
    is_struct = isinstance(cast("object", kind), type) and issubclass(kind, msgspec.Struct)
    return is_struct or dataclasses.is_dataclass(kind) or is_typeddict(kind) or is_pydantic(kind)


def _candidates(text: str) -> list[str]:
    """Return the places where the JSON of an answer may be: the whole text, a code block, and what
    the first bracket encloses."""
    whole = text.strip()
    found = [whole] if whole else []
    found += [match[1].strip() for match in _FENCE.finditer(text)][-1:]
    start = min((at for at in map(text.find, "{[") if at >= 0), default=-1)
    if start > 0:
        found.append(_enclosed(text, start))
    return found


def _enclosed(text: str, start: int) -> str:
    extent = JSONExtent()
    at = start
    for match in _CLOSING.finditer(text, start):
        extent.feed(text[at : match.end()])
        at = match.end()
        if extent.is_closed:
            break
    return text[start:at]


def _name_of(kind: Any, schema: JSONObject) -> str:
    """Return a name for the provider, of letters that all of them accept."""
    given = schema.get("title") or getattr(kind, "__name__", None)
    name = _NAME.sub("_", given if isinstance(given, str) else "").strip("_")
    return name[:_MAX_NAME_CHARS] or _ROOT
