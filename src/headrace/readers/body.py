"""Parts of request bodies that several readers read in the same way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar, cast, get_args

import msgspec

from headrace.encoders.request import Effort
from headrace.events import JSONObject
from headrace.messages import Message, read_messages
from headrace.messages.plain_messages import InvalidMessage
from headrace.messages.seal_envelope import is_envelope
from headrace.readers.incoming import InvalidRequest
from headrace.wire.json.value import as_list, as_object

T = TypeVar("T", bound=msgspec.Struct)


def convert_body(body: JSONObject, kind: type[T]) -> tuple[T, JSONObject]:
    """Return the fields that a struct names, and those that it does not know.

    Raises `InvalidRequest`, which names the field, for a value of the wrong type.
    """
    unknown = {name: value for name, value in body.items() if name not in kind.__struct_fields__}
    try:
        return msgspec.convert(body, kind), unknown
    except msgspec.ValidationError as error:
        text = str(error)
        missing = re.search(r"missing required field `(\w+)`", text)
        param = missing[1] if missing else _find_place(text)
        raise InvalidRequest(text.replace(" - at `$`", ""), param or None) from None


def _find_place(text: str) -> str:
    """Return the place that an error of msgspec ends with, without the `$` of the whole body."""
    place = text.rpartition(" - at `$")[2] if text.endswith("`") else ""
    return place.removesuffix("`").removeprefix(".")


def read_history(entries: Sequence[JSONObject], dialect: str) -> list[Message]:
    """Read the messages of a body. Raises `InvalidRequest`, which names the message."""
    if not entries:
        raise InvalidRequest("messages must have at least one message", "messages")
    try:
        return read_messages(entries, dialect)
    except InvalidMessage as error:
        param = f"messages[{error.number}]"
        raise InvalidRequest(f"{param}: {error.problem}", param) from None


def has_envelope(value: Any) -> bool:
    """Return whether a history has a signature that only Headrace can read. Such a body cannot be
    sent on as it is."""
    # Without recursion: the arguments of a call may be nested deeply.
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str) and is_envelope(one):
            return True
        left += [*as_object(one).values(), *as_list(one)]
    return False


def read_effort(word: Any, param: str) -> Effort:
    """Return an effort. Raises `InvalidRequest` for an unknown one."""
    if word not in get_args(Effort):
        words = ", ".join(get_args(Effort))
        raise InvalidRequest(f"{param} must be one of {words}; got {word!r:.40}", param)
    return cast("Effort", word)


def refuse(param: str, why: str) -> InvalidRequest:
    """Return the error for a field that is known, but cannot be honored."""
    return InvalidRequest(f"{param} is not supported: {why}", param)
