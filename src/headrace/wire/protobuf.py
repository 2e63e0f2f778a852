"""Protocol buffers: reads bytes, or their JSON, into structs by a table of fields.

The core depends on msgspec alone, so the wire format is read here. It is small:
https://protobuf.dev/programming-guides/encoding and, for the JSON,
https://protobuf.dev/programming-guides/json. A reader descends only where its table does, so no
peer can make it recurse deeper.
"""

from __future__ import annotations

import re
import struct
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from headrace.errors import LimitExceeded
from headrace.wire.json.value import as_list, as_object

T = TypeVar("T", bound=msgspec.Struct)

_VARINT, _FIXED64, _SIZED, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED32: 4, _FIXED64: 8}
# Ten bytes of seven bits hold the 64 of the largest number.
_MAX_VARINT_BYTES = 10
# Field numbers have 29 bits, and the wire type three.
_TAGS = 1 << 32
_SIGN_32, _SIGN_64 = 1 << 31, 1 << 63
_DIGITS = re.compile(r"-?[0-9]{1,20}")


class NotProtobuf(ValueError):
    """The bytes are not a message. Used only inside `wire/`: the frame is skipped."""


class Scalar(NamedTuple):
    """A type of number, or text: its wire type, and how its bits and its JSON are read."""

    wire: int
    read: Callable[[Any], Any]
    read_json: Callable[[Any], Any]


class Enum:
    """Words by number. The struct holds the word, or the digits of a number that the table does not
    know."""

    def __init__(self, *words: str, **numbered: int) -> None:
        self.words = dict(enumerate(words)) | {n: word for word, n in numbered.items()}

    def read(self, bits: int) -> str:
        """Return the word of a varint."""
        word = self.words.get(bits)
        return str(_read_int32(bits)) if word is None else word

    def read_json(self, value: Any) -> str | None:
        """Return the word of a JSON word or number."""
        if isinstance(value, int) and not isinstance(value, bool):
            return self.read(value & 0xFFFF_FFFF_FFFF_FFFF)
        return value if isinstance(value, str) and value else None


class Field(NamedTuple):
    """One row of a table: the attribute, its type, and whether it repeats."""

    name: str
    kind: Scalar | Enum | Message[Any]
    is_list: bool = False


class Message(Generic[T]):
    """The table of one type of message: field numbers to fields, and the struct to fill."""

    def __init__(self, struct_type: type[T], fields: Mapping[int, Field]) -> None:
        self.new = struct_type
        self.fields = fields
        self.tags: dict[int, _Step] = {}
        for number, field in fields.items():
            for wire, step in _list_steps(field):
                self.tags[number << 3 | wire] = step
        self.json_names = {
            spelling: field
            for field in fields.values()
            for spelling in (field.name, _to_camel_case(field.name))
        }


_TEXT, _INT, _ONE, _LIST, _MESSAGE, _MESSAGES, _PACKED = range(7)

# What to do at one tag: an action, the attribute, how to read it, and how packed ones lie.
_Step: TypeAlias = tuple[int, str, Any, int]


def _list_steps(field: Field) -> list[tuple[int, _Step]]:
    """Return the steps of a field by wire type. A field with any other wire type is skipped."""
    name, kind, is_list = field
    if isinstance(kind, Message):
        return [(_SIZED, (_MESSAGES if is_list else _MESSAGE, name, kind, _SIZED))]
    wire = _VARINT if isinstance(kind, Enum) else kind.wire
    if not is_list:
        action = _TEXT if kind is TEXT else _INT if kind in (INT32, INT64) else _ONE
        return [(wire, (action, name, kind.read, wire))]
    steps: list[tuple[int, _Step]] = [(wire, (_LIST, name, kind.read, wire))]
    if wire != _SIZED:
        # Writers pack numbers or do not, and readers must take both.
        steps.append((_SIZED, (_PACKED, name, kind.read, wire)))
    return steps


def create_table(struct_type: type[T], *, leaves_out: str = "") -> Message[T]:
    """Return the table of a struct whose fields are annotated with their numbers, and with their
    type if Python's says too little: `Annotated[int | None, 11, INT64]`. The field `leaves_out` is
    skipped at any depth."""
    fields: dict[int, Field] = {}
    for name, hint in typing.get_type_hints(struct_type, include_extras=True).items():
        number, *kinds = hint.__metadata__
        entry, _ = typing.get_args(hint.__origin__)
        is_list = typing.get_origin(entry) is list
        if is_list:
            (entry,) = typing.get_args(entry)
        if name == leaves_out:
            continue
        if entry in _SCALARS:
            kind = kinds[0] if kinds else _SCALARS[entry]
        else:
            kind = create_table(entry, leaves_out=leaves_out)
        fields[number] = Field(name, kind, is_list)
    return Message(struct_type, fields)


def _to_camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


# --- the bytes --------------------------------------------------------------------


class ProtobufReader:
    """Reads messages with at most `max_entries` list entries each: an empty entry takes two bytes
    on the wire, but a hundred in memory."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._left = max_entries

    def read(self, data: bytes, message: Message[T]) -> T:
        """Read a message. Raises `NotProtobuf`, or `LimitExceeded("max_parts")` for too many
        entries."""
        self._left = self._max_entries
        target = message.new()
        try:
            self._fill(target, message.tags, data, 0, len(data))
        except IndexError:
            raise NotProtobuf("the message ends inside a field") from None
        return target

    def _fill(  # noqa: C901, PLR0912, PLR0915 - the hot loop: each call in it would cost a field
        self, target: msgspec.Struct, tags: dict[int, _Step], data: bytes, at: int, end: int
    ) -> None:
        while at < end:
            tag = data[at]
            at += 1
            if tag >= 0x80:
                tag, at = _read_varint(data, at - 1)
            step = tags.get(tag)
            wire = tag & 7
            if wire == _SIZED:
                size = data[at]
                at += 1
                if size >= 0x80:
                    size, at = _read_varint(data, at - 1)
                stop = at + size
                if stop > end:
                    raise NotProtobuf("a field is longer than its message")
                if step is not None:
                    action, name, read, _ = step
                    if action == _TEXT:
                        setattr(target, name, data[at:stop].decode("utf-8", "replace"))
                    elif action == _MESSAGES:
                        inner = read.new()
                        self._append(target, name, inner)
                        self._fill(inner, read.tags, data, at, stop)
                    elif action == _MESSAGE:
                        # A message that comes in two pieces is merged.
                        if (inner := getattr(target, name)) is None:
                            setattr(target, name, inner := read.new())
                        self._fill(inner, read.tags, data, at, stop)
                    else:
                        self._append_all(target, step, data[at:stop])
                elif not 7 < tag < _TAGS:
                    raise NotProtobuf(f"there is no field {tag >> 3}")
                at = stop
                continue
            if wire == _VARINT:
                bits = data[at]
                at += 1
                if bits >= 0x80 and data[at] < 0x80:
                    # Fast path: the counts of a turn take two bytes.
                    bits, at = bits & 0x7F | data[at] << 7, at + 1
                elif bits >= 0x80:
                    bits, at = _read_varint(data, at - 1)
            else:
                bits, at = _read_fixed(data, at, wire)
            if step is not None:
                action, name, read, _ = step
                if action == _INT and bits < _SIGN_32:
                    setattr(target, name, bits)
                elif action == _LIST:
                    self._append(target, name, read(bits))
                else:
                    setattr(target, name, read(bits))
            elif not 7 < tag < _TAGS:
                raise NotProtobuf(f"there is no field {tag >> 3}")
        if at > end:
            raise NotProtobuf("a field is longer than its message")

    def _append_all(self, target: msgspec.Struct, step: _Step, data: bytes) -> None:
        """Append one sized entry of a list, or all of its packed numbers."""
        action, name, read, wire = step
        if action == _LIST:
            self._append(target, name, read(data))
            return
        at = 0
        while at < len(data):
            is_varint = wire == _VARINT
            bits, at = _read_varint(data, at) if is_varint else _read_fixed(data, at, wire)
            self._append(target, name, read(bits))

    def _append(self, target: msgspec.Struct, name: str, value: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise LimitExceeded("max_parts", self._max_entries)
        entries = getattr(target, name)
        if entries is None:
            setattr(target, name, [value])
        else:
            entries.append(value)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at this position, and the position after it."""
    bits = shift = 0
    for _ in range(_MAX_VARINT_BYTES):
        byte = data[at]
        at += 1
        bits |= (byte & 0x7F) << shift
        if byte < 0x80:
            return bits & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise NotProtobuf("expected a number of ten bytes at most")


def _read_fixed(data: bytes, at: int, wire: int) -> tuple[Any, int]:
    size = _FIXED_SIZES.get(wire)
    if size is None:
        raise NotProtobuf(f"expected a field, got wire type {wire}")
    bits = data[at : at + size]
    if len(bits) < size:
        raise NotProtobuf("the message ends inside a number")
    return bits, at + size


def _read_text(data: bytes) -> str:
    """Decode text. A bad byte is replaced, as everywhere in `wire/`."""
    return data.decode("utf-8", "replace")


def _read_int32(bits: int) -> int:
    bits &= 0xFFFF_FFFF
    return bits - (1 << 32) if bits & _SIGN_32 else bits


def _read_int64(bits: int) -> int:
    return bits - (1 << 64) if bits & _SIGN_64 else bits


def _read_float(bits: bytes) -> float:
    value: float = struct.unpack("<f", bits)[0]
    return value


# --- the JSON ---------------------------------------------------------------------


def read_json(value: dict[str, Any], message: Message[T]) -> T:
    """Read a message from its JSON: names in either spelling, enums as words or numbers, large
    numbers as text. A field of the wrong type is dropped."""
    target = message.new()
    for name, told in value.items():
        field = message.json_names.get(name)
        if field is None or told is None:
            continue
        fitted = _convert_list(told, field.kind) if field.is_list else _convert(told, field.kind)
        if fitted is not None:
            setattr(target, field.name, fitted)
    return target


def _convert(value: Any, kind: Scalar | Enum | Message[Any]) -> Any:
    if not isinstance(kind, Message):
        return kind.read_json(value)
    fields = as_object(value)
    return read_json(fields, kind) if fields == value else None


def _convert_list(value: Any, kind: Scalar | Enum | Message[Any]) -> list[Any] | None:
    fitted = [_convert(entry, kind) for entry in as_list(value)]
    return [entry for entry in fitted if entry is not None] or None


def _read_json_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _make_json_int(limit: int) -> Callable[[Any], int | None]:
    def read(value: Any) -> int | None:
        is_digits = isinstance(value, str) and _DIGITS.fullmatch(value) is not None
        if is_digits or (isinstance(value, float) and value.is_integer()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if -limit <= value < limit else None

    return read


def _read_json_float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        # As precise as the bytes are.
        return _read_float(struct.pack("<f", value))
    except (OverflowError, struct.error):
        return None


TEXT: Final = Scalar(_SIZED, _read_text, _read_json_text)
INT32: Final = Scalar(_VARINT, _read_int32, _make_json_int(_SIGN_32))
INT64: Final = Scalar(_VARINT, _read_int64, _make_json_int(_SIGN_64))
FLOAT: Final = Scalar(_FIXED32, _read_float, _read_json_float)
_SCALARS: Final = {str: TEXT, int: INT32, float: FLOAT}
