"""JSON off the wire: bounded in depth, and lenient in fields, never in syntax.

The fast way is msgspec into a private struct. What msgspec refuses but JSON allows
(numbers past a double, half surrogate pairs, bytes that are no UTF-8) takes the
standard library's way; a field of the wrong type is left out and the rest stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar, get_args, get_type_hints

import msgspec

from headrace.errors import LimitExceeded

T = TypeVar("T", bound=msgspec.Struct)

_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"?|([\[{])|([\]}])', re.DOTALL)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# The digits that int() takes by default; past it the value is a float, so infinite.
_MAX_INT_DIGITS = 4_300


class NotJSON(ValueError):
    """The bytes are no JSON. Stays inside `wire/`: a skipped frame, a malformed call."""


def check_depth(data: bytes, max_depth: int) -> None:
    """Raise `LimitExceeded` for JSON nested deeper than `max_depth`.

    Counting brackets is nearly free and settles almost every payload; only one with
    many brackets is scanned.
    """
    if len(data) <= max_depth or data.count(b"{") + data.count(b"[") <= max_depth:
        return
    depth = 0
    for match in _BRACKETS.finditer(data):
        if match[1]:
            depth += 1
            if depth > max_depth:
                raise LimitExceeded("max_depth", max_depth)
        elif match[2]:
            depth -= 1


def parse(data: bytes, max_depth: int) -> Any:
    """Any JSON value. Raises `NotJSON`, or `LimitExceeded` for the depth."""
    check_depth(data, max_depth)
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _parse_slowly(data)


def _parse_slowly(data: bytes) -> Any:
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_int=_parse_int, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None
    return _mended(value) if "\\u" in text else value


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _mended(value: Any) -> Any:
    """Half a surrogate pair cannot be written as UTF-8 again: U+FFFD, like bad bytes."""
    match value:
        case str():
            return _LONE_SURROGATE.sub("\ufffd", value)
        case list():
            return [_mended(entry) for entry in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {_mended(key): _mended(entry) for key, entry in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


class PayloadDecoder(Generic[T]):
    """Decodes one kind of payload object into its wire struct."""

    def __init__(self, kind: type[T], max_depth: int) -> None:
        self._kind = kind
        self._max_depth = max_depth
        self._decode: Callable[[bytes], T] = msgspec.json.Decoder(kind).decode

    def decode(self, data: bytes) -> T:
        """The struct. Raises `NotJSON` where the bytes are no JSON object, and
        `LimitExceeded` for the depth; a wrong field raises nothing."""
        if len(data) > self._max_depth:
            check_depth(data, self._max_depth)
        try:
            return self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = parse(data, self._max_depth)
        if not isinstance(value, dict):
            raise NotJSON("a JSON object was expected")
        return lenient(value, self._kind)  # pyright: ignore[reportUnknownArgumentType]


def lenient(value: dict[str, Any], kind: type[T]) -> T:
    """`value` as a `kind`, without the fields that do not fit."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if value.get(field.encode_name) is not None:
            fitted = _fitted(value[field.encode_name], _field_types(kind)[field.name])
            if fitted is not None:
                fields[field.name] = fitted
    return kind(**fields)


def _fitted(value: Any, annotation: Any) -> Any:
    try:
        return msgspec.convert(value, annotation)
    except (msgspec.ValidationError, RecursionError):
        nested = _nested_struct(annotation)
    if nested is None:
        return None
    if isinstance(value, dict):
        return lenient(value, nested)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list):
        entries: list[Any] = value
        return [lenient(entry, nested) for entry in entries if isinstance(entry, dict)]
    return None


def _nested_struct(annotation: Any) -> type[msgspec.Struct] | None:
    """The struct inside `S`, `S | None`, `list[S] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    found = (_nested_struct(inner) for inner in get_args(annotation))
    return next((struct for struct in found if struct is not None), None)


_types: dict[type, dict[str, Any]] = {}


def _field_types(kind: type[msgspec.Struct]) -> dict[str, Any]:
    if kind not in _types:
        _types[kind] = get_type_hints(kind)
    return _types[kind]
