"""Which parts of earlier replies may be sent to a model: rules that all encoders share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from headrace.encoders.model_family import parse_family
from headrace.encoders.request import Request
from headrace.encoders.text_content import encode_json
from headrace.messages import AssistantEntry, CallPart, OpaquePart, Part
from headrace.wire.json.value import as_object

_decode_shallow = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MADE_UP = re.compile(r"call_\d+(~\d+)?")


def is_from_same_model(reply: AssistantEntry, request: Request, dialect: str) -> bool:
    """Return whether this model made the reply: seals are valid only where they were made. Unknown
    facts, as in a recorded stream without a provider, do not count against it."""
    return (
        reply.dialect == dialect
        and (reply.provider is None or request.provider in (None, reply.provider))
        and (reply.model is None or parse_family(reply.model) == parse_family(request.model))
    )


def group_by_item(parts: Iterable[Part]) -> list[list[Part]]:
    """Group parts by provider item, in the order in which the items began."""
    items: dict[int, list[Part]] = {}
    for part in parts:
        items.setdefault(part.item, []).append(part)
    return list(items.values())


def iterate_client_calls(reply: AssistantEntry) -> Iterator[CallPart]:
    """Yield the calls that the client must answer."""
    for part in reply.parts:
        if isinstance(part, CallPart) and part.executor == "client":
            yield part


def is_generated_id(call_id: str) -> bool:
    """Return whether Headrace made the id, because the provider gave none."""
    return _MADE_UP.fullmatch(call_id) is not None


class CallIds:
    """The ids under which calls are sent. The provider's own ids are kept; others must match its
    pattern, and none may occur twice in a conversation."""

    def __init__(self, pattern: str = r"[A-Za-z0-9_-]{1,40}") -> None:
        self._pattern = re.compile(pattern)
        self._taken: set[str] = set()
        self._now: dict[str, str] = {}

    def begin(self, reply: AssistantEntry, is_ours: bool) -> None:
        """Assign the ids of a reply, for its calls and the results after it. Calls that a provider
        ran are sent back only to that provider."""
        self._now = {}
        for call in reply.parts:
            if isinstance(call, CallPart) and (is_ours or call.executor == "client"):
                self._now[call.call_id] = self._make_unique(call.call_id, is_ours)

    def __getitem__(self, call_id: str) -> str:
        return self._now.get(call_id, call_id)

    def _make_unique(self, call_id: str, is_ours: bool) -> str:
        fits = is_ours or self._pattern.fullmatch(call_id) is not None
        wanted = unique = call_id if fits else _hash_id(call_id)
        copy = 1
        while unique in self._taken:
            copy += 1
            unique = _hash_id(f"{wanted} {copy}")
        self._taken.add(unique)
        return unique


def _hash_id(call_id: str) -> str:
    """Return nine letters and digits: the narrowest pattern that a provider has."""
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


# --- content that is sent back unchanged --------------------------------------------


def encode_arguments(call: CallPart) -> str:
    """Return the arguments as the model wrote them, for dialects that take a text. What is not JSON
    is wrapped, because chat templates parse it."""
    if call.input == "text":
        return encode_json({"input": call.raw})
    if call.error is not None:
        return encode_json({"malformed_arguments": call.raw})
    return call.raw if call.raw.strip() else "{}"


def to_arguments_object(call: CallPart) -> Any:
    """Return the arguments for dialects that take an object, byte for byte. What is not an object
    is wrapped, because the model reads it again."""
    if call.input == "text":
        return {"input": call.raw}
    if call.error is not None:
        return {"malformed_arguments": call.raw}
    try:
        _decode_shallow(call.raw)
    except (msgspec.DecodeError, UnicodeEncodeError):
        wrapped = {} if call.args in (None, {}) else {"value": call.args}
        return as_object(call.args) or wrapped
    return msgspec.Raw(call.raw)


def to_raw_json(part: OpaquePart) -> Any:
    """Return an item that is not interpreted, byte for byte."""
    return msgspec.Raw(part.data)


def get_tool_name(call: CallPart) -> str:
    """Return the name of the tool, or `unknown` for a call without one."""
    return call.name or "unknown"
