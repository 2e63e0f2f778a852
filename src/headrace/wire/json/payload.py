"""JSON decoding for provider payloads: bounded in depth, lenient about fields, strict about syntax.

The fast path is msgspec into a private struct. What msgspec rejects but JSON allows (numbers beyond
a double, halves of surrogate pairs, invalid UTF-8) goes through the standard library. A field of
the wrong type is dropped and the rest is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from headrace.errors import LimitExceeded
from headrace.wire.json.value import as_list, as_object, as_objects, as_text

T = TypeVar("T", bound=msgspec.Struct)

_BRACKETS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{])|([\]}])', re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# The digits that int() takes by default; past it the value is a float, so infinite.
_MAX_INT_DIGITS = 4_300


_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NO_FIELDS: frozenset[str] = frozenset()
REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for a payload that may still be JSON."""


class NotJSON(ValueError):
    """The bytes are not JSON. Used only inside `wire/`: the frame is skipped, or the call is
    malformed."""


def check_depth(data: bytes, max_depth: int) -> None:
    """Raise `LimitExceeded` for JSON nested deeper than `max_depth`.

    Counting brackets is nearly free and settles almost every payload; only a payload with many
    brackets is scanned.
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
    """Parse any JSON value. Raises `NotJSON`, or `LimitExceeded` for the depth."""
    check_depth(data, max_depth)
    try:
        return msgspec.json.decode(data)
    except REFUSED:
        return repair_surrogates(_parse_slowly(data, _reject_constant))


def parse_payload(data: bytes, max_depth: int) -> Any:
    """Parse the payload of a frame. Like `parse`, but NaN and Infinity become None: Python servers
    write them, and the rest of such a payload is good."""
    check_depth(data, max_depth)
    try:
        return msgspec.json.decode(data)
    except REFUSED:
        return repair_surrogates(_parse_slowly(data, _read_constant_as_none))


def extract_field(data: bytes | str, name: str) -> str | None:
    """Return the JSON of one field of an object, byte for byte, or None if it is not there or the
    bytes are not valid."""
    try:
        field = _decode_fields(data).get(name)
        return None if field is None else bytes(field).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def encode_json(value: Any) -> str:
    """Encode a value that came from a provider, with halves of surrogate pairs replaced."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(repair_surrogates(value)).decode()


def repair_surrogates(value: Any) -> Any:
    """Return a JSON value with all its texts as `replace_surrogates` returns them."""
    return _SurrogateReplacer().value(value)


def replace_surrogates(text: str) -> str:
    """Return the text with surrogate pairs as characters. A half cannot be written as UTF-8 and
    becomes U+FFFD, like invalid bytes."""
    if _HALF.search(text) is None:
        return text
    return _HALF.sub("\ufffd", _PAIR.sub(_join_pair, text))


def ends_with_high_surrogate(text: str) -> bool:
    """Return whether the text ends with the first half of a pair."""
    return "\ud800" <= text[-1:] <= "\udbff"


def _join_pair(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _parse_slowly(data: bytes, parse_constant: Callable[[str], None]) -> Any:
    text = data.decode("utf-8", "replace")
    try:
        return json.loads(text, parse_int=_parse_int, parse_constant=parse_constant)
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _read_constant_as_none(constant: str) -> None:
    return None


class _SurrogateReplacer:
    """Replaces surrogates in all texts of a value, except for halves at the edges of the fields
    `deltas`, whose other half may be in another payload. `has_halves` tells whether there were any.
    """

    __slots__ = ("_deltas", "has_halves")

    def __init__(self, deltas: frozenset[str] = frozenset()) -> None:
        self._deltas = deltas
        self.has_halves = False

    def value(self, value: Any) -> Any:
        if text := as_text(value):
            return replace_surrogates(text)
        if entries := as_list(value):
            return [self.value(entry) for entry in entries]
        if fields := as_object(value):
            return {
                replace_surrogates(name): self._replace_in_field(name, entry)
                for name, entry in fields.items()
            }
        return value

    def _replace_in_field(self, name: str, value: Any) -> Any:
        text = as_text(value) if name in self._deltas else None
        if text is None or _HALF.search(text) is None:
            return self.value(value)
        first = text[0] if "\udc00" <= text[0] <= "\udfff" else ""
        last = text[-1] if ends_with_high_surrogate(text) else ""
        self.has_halves = self.has_halves or bool(first or last)
        return first + replace_surrogates(text[len(first) : len(text) - len(last)]) + last


class PayloadDecoder(Generic[T]):
    """Decodes one kind of payload object into its wire struct.

    For speed, a payload of at most `shallow_bytes` can go to `decode_shallow` first, and to
    `decode` only if that raises `REFUSED`. The fields `deltas` may begin or end with half a
    surrogate pair; then `on_halves` is called.
    """

    def __init__(
        self,
        kind: type[T],
        max_depth: int,
        deltas: frozenset[str] = _NO_FIELDS,
        on_halves: Callable[[], None] | None = None,
    ) -> None:
        self._kind = kind
        self._max_depth = max_depth
        self._deltas = deltas if on_halves is not None else _NO_FIELDS
        self._on_halves = on_halves
        # A level takes two bytes, its brackets: a short payload is shallow uncounted. (In
        # JSON; what is none is counted when it is parsed again.)
        self.shallow_bytes = 2 * max_depth
        self.decode_shallow: Callable[[bytes], T] = decoder_of(kind)

    def decode(self, data: bytes) -> T:
        """Return the struct. Raises `NotJSON` if the bytes are not a JSON object, and
        `LimitExceeded` for the depth; a wrong field raises nothing."""
        if len(data) > self.shallow_bytes:
            check_depth(data, self._max_depth)
        try:
            return self.decode_shallow(data)
        except REFUSED:
            value = self._decode_slowly(data)
        fields = as_object(value)
        if value != fields:
            raise NotJSON("a JSON object was expected")
        return convert_leniently(fields, self._kind)

    def decode_fields(self, data: bytes) -> dict[str, Any]:
        """Return all fields, for payloads whose struct has none; empty if the bytes are no JSON
        object. Raises like `decode`."""
        return as_object(self._decode_slowly(data))

    def _decode_slowly(self, data: bytes) -> Any:
        check_depth(data, self._max_depth)
        try:
            # Only a field of the wrong type was refused.
            return msgspec.json.decode(data)
        except REFUSED:
            mending = _SurrogateReplacer(self._deltas)
            value = mending.value(_parse_slowly(data, _read_constant_as_none))
        if mending.has_halves and self._on_halves is not None:
            self._on_halves()
        return value


def decoder_of(kind: type[T]) -> Callable[[bytes], T]:
    """Return a function that decodes a struct. All streams share it."""
    if kind not in _decoders:
        _decoders[kind] = msgspec.json.Decoder(kind).decode
    return cast("Callable[[bytes], T]", _decoders[kind])


_decoders: dict[type, Callable[[bytes], object]] = {}


def convert_leniently(value: dict[str, Any], kind: type[T]) -> T:
    """Convert an object to a struct, without the fields that do not fit."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if value.get(field.encode_name) is not None:
            fitted = _convert_field(value[field.encode_name], _field_types(kind)[field.name])
            if fitted is not None:
                fields[field.name] = fitted
    return kind(**fields)


def _convert_field(value: Any, annotation: Any) -> Any:
    try:
        return msgspec.convert(value, annotation)
    except (msgspec.ValidationError, RecursionError):
        pass
    fields, entries = as_object(value), as_objects(value)
    for option in get_args(annotation) or (annotation,):
        if option is msgspec.Raw:
            return msgspec.Raw(encode_json(value).encode())
        if fields and _is_struct(option):
            return convert_leniently(fields, option)
        if entries and get_origin(option) is list and _is_struct(get_args(option)[0]):
            return [convert_leniently(entry, get_args(option)[0]) for entry in entries]
    return None


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


_types: dict[type, dict[str, Any]] = {}


def _field_types(kind: type[msgspec.Struct]) -> dict[str, Any]:
    if kind not in _types:
        _types[kind] = get_type_hints(kind)
    return _types[kind]
