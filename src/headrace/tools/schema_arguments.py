"""Arguments that a given JSON schema describes, checked without trust in the schema.

A schema of a foreign server may be made to take forever, and so may a value that it has sent:
regular expressions are therefore not evaluated, values, references and time are limited, and
nothing is loaded from elsewhere.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, cast

import msgspec

from headrace.events import JSONObject
from headrace.tools.arguments import Arguments, ArgumentsInvalid
from headrace.wire.json.value import as_list, as_object

MAX_REFERENCES: Final = 10_000
"""Most references that are followed to check one value."""
MAX_SCHEMA_DEPTH: Final = 64
"""Most levels of a schema."""
MAX_VALUES: Final = 200_000
"""Most values, at all levels, of what is checked."""
MAX_CHECK_S: Final = 0.5
"""Most seconds to check the arguments of a call."""
_MAX_NULL_CHECK_S: Final = 0.05
_MAX_ERRORS = 5
_MAX_CHARS = 2_000


class SchemaInvalid(ValueError):
    """A JSON schema that cannot describe the arguments of a tool."""


class SchemaTooCostly(ValueError):
    """A value could not be checked within the limits."""


class SchemaArguments(Arguments):
    """The arguments of a tool with a given schema. They are passed on as they are, but for those
    that are optional and null: models write null for what they leave out."""

    def __init__(self, schema: JSONObject) -> None:
        super().__init__(())
        self._given_schema = schema

    def read(self, given: Any) -> dict[str, Any]:
        """Return the arguments for the function of the tool. Raises `ArgumentsInvalid`."""
        if not isinstance(given, dict):
            raise ArgumentsInvalid("expected a JSON object with the arguments by name")
        fields = self._drop_nulls(cast("dict[str, Any]", given))
        problem = find_mismatch(self._given_schema, fields)
        if problem is not None:
            raise ArgumentsInvalid(problem)
        return {"arguments": fields}

    def _drop_nulls(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Leave out what is null, unless it is required or may be null."""
        properties, required = (self._given_schema.get(key) for key in ("properties", "required"))
        kept: dict[str, Any] = {}
        for name, value in fields.items():
            schema = as_object(as_object(properties).get(name))
            is_optional = name not in as_list(required)
            if value is None and is_optional and schema and self._refuses_null(schema):
                continue
            kept[name] = value
        return kept

    def _refuses_null(self, schema: JSONObject) -> bool:
        return find_mismatch(schema, None, _MAX_NULL_CHECK_S) is not None


def check_object_schema(schema: Any) -> None:
    """Raise `SchemaInvalid` if this is no JSON schema of an object."""
    if as_object(schema).get("type") != "object":
        raise SchemaInvalid("its type is not object")
    check_schema(schema)


def check_schema(schema: Any) -> None:
    """Raise `SchemaInvalid` if this is no JSON schema."""
    if _is_deeper(schema, MAX_SCHEMA_DEPTH):
        raise SchemaInvalid(f"it has more than {MAX_SCHEMA_DEPTH} levels")
    try:
        from jsonschema import Draft202012Validator, SchemaError
    except ImportError:
        return
    try:
        Draft202012Validator.check_schema(cast("JSONObject", schema))
    except SchemaError as error:
        raise SchemaInvalid(error.message[:200]) from None


def find_mismatch(schema: JSONObject, value: Any, within_s: float = MAX_CHECK_S) -> str | None:
    """Return where a value does not fit a schema, or None. Without jsonschema nothing is found.
    A value that cannot be checked within the time, or has too many values, does not fit."""
    try:
        validator_class = _create_validator_class()
    except ImportError:
        return None
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    if _has_more_values(value, MAX_VALUES):
        return f"it has more than {MAX_VALUES} values, which is too much to check"
    _budget.reset(within_s)
    validator = validator_class(schema, registry=Registry[Any]())
    found: list[str] = []
    try:
        for error in validator.iter_errors(value):
            place = ".".join(str(step) for step in error.absolute_path)
            found.append(f"{place}: {error.message[:300]}" if place else error.message[:300])
            if len(found) == _MAX_ERRORS:
                break
    except Unresolvable:
        return "the schema refers to something that it does not contain"
    except (SchemaTooCostly, RecursionError):
        return "the schema is too complicated to check"
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # Such as a division by a number that is too large for a float.
        return "the schema cannot be used to check this"
    return "; ".join(found)[:_MAX_CHARS] or None


class _Budget(threading.local):
    """What the check of one value may still cost."""

    def __init__(self) -> None:
        self.reset(0.0)

    def reset(self, within_s: float) -> None:
        self._references = MAX_REFERENCES
        self._until_s = time.monotonic() + within_s

    def spend(self, references: int) -> None:
        self._references -= references
        if self._references < 0 or time.monotonic() > self._until_s:
            raise SchemaTooCostly


_budget = _Budget()


@lru_cache(maxsize=1)
def _create_validator_class() -> Any:
    # Untyped.
    validators: Any = import_module("jsonschema.validators")
    draft = validators.Draft202012Validator
    rules = dict(draft.VALIDATORS)
    rules |= dict.fromkeys(_SKIPPED, _skip)
    rules["additionalProperties"] = _without_patterns(rules["additionalProperties"])
    rules["uniqueItems"] = _check_unique
    limited = {name: _limit(rule, name in _REFERENCES) for name, rule in rules.items()}
    created = validators.extend(draft, limited)
    created.evolve = _keep_class(created.evolve)
    return created


_REFERENCES: Final = ("$ref", "$dynamicRef")
# The rules for what no other rule has looked at evaluate the regular expressions of the others.
_SKIPPED: Final = (
    "pattern",
    "patternProperties",
    "format",
    "unevaluatedItems",
    "unevaluatedProperties",
)


def _limit(rule: Any, is_reference: bool) -> Any:
    """Return a rule of jsonschema that stops when the budget is spent."""

    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _budget.spend(1 if is_reference else 0)
        yield from rule(validator, value, instance, schema) or ()

    return check


def _skip(*_: Any) -> Iterator[Any]:
    return iter(())


def _without_patterns(rule: Any) -> Any:
    """Return a rule that is skipped in a schema with patterns, which it would evaluate."""

    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return () if "patternProperties" in schema else rule(validator, value, instance, schema)

    return check


def _check_unique(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Check `uniqueItems`. That of jsonschema compares each item with all others."""
    from jsonschema import ValidationError

    items = as_list(instance)
    if value is True and len({_encode(item) for item in items}) < len(items):
        yield ValidationError("it has an item twice")


_encode = msgspec.json.Encoder(order="sorted").encode


def _keep_class(evolve: Any) -> Any:
    """Return a method that ignores `$schema`, with which a part of a schema could choose a
    validator without limits."""

    def evolve_same(self: Any, **changes: Any) -> Any:
        schema = changes.get("schema")
        if isinstance(schema, dict) and "$schema" in schema:
            fields = cast("JSONObject", schema)
            changes["schema"] = {k: v for k, v in fields.items() if k != "$schema"}
        return evolve(self, **changes)

    return evolve_same


def _has_more_values(value: Any, most: int) -> bool:
    """Return whether a JSON value has more than this many values at all levels."""
    count, waiting = 0, [value]
    while waiting:
        entry = waiting.pop()
        count += 1
        if count + len(waiting) > most:
            return True
        waiting.extend(as_object(entry).values())
        waiting.extend(as_list(entry))
    return False


def _is_deeper(value: Any, levels: int) -> bool:
    """Return whether a JSON value has more than this many levels, without recursion."""
    current: list[Any] = [value]
    for _ in range(levels):
        following: list[Any] = []
        for entry in current:
            following.extend(as_object(entry).values())
            following.extend(as_list(entry))
        if not following:
            return False
        current = following
    return True
