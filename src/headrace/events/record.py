"""The record, an event with its place in a run, and the JSON of events and records.

Unknown tags in stored data become an `UnknownEvent`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias, get_args

import msgspec

from headrace.events.run import RunClosed, RunEvent
from headrace.events.turn import TurnEvent

LOG_VERSION = 1
"""Version of the records in a log. It changes when older releases could not go on from a log."""


class UnknownEvent(msgspec.Struct, frozen=True):
    """An event of stored data whose tag this version does not know. Readers skip it."""

    tag: str
    data: bytes
    """The JSON of the event, which `encode_record` writes back unchanged."""


Event: TypeAlias = TurnEvent | RunEvent | RunClosed
EVENT_TYPES: tuple[type[Event], ...] = get_args(Event)


class Record(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in a run: one line of the log."""

    seq: int
    """Number of the record, counted from 1 without gaps."""
    at_ms: int
    """Time of the event in milliseconds since the epoch. It never decreases."""
    event: Event | UnknownEvent
    path: tuple[str, ...] = ()
    """Call ids that lead to the nested run of the event; empty for the run itself."""
    step: int = 0
    """Number of the step, counted from 0."""
    epoch: int = 0
    """How often the run had been taken over when the record was written: 0 until its first
    process has ended or suspended it."""


class _StoredRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The JSON form of a record."""

    seq: int
    at_ms: int
    event: msgspec.Raw
    path: tuple[str, ...] = ()
    step: int = 0
    epoch: int = 0


class _Tagged(msgspec.Struct):
    type: str = ""


_encoder = msgspec.json.Encoder()
_decode_stored = msgspec.json.Decoder(_StoredRecord).decode
_decode_tag = msgspec.json.Decoder(_Tagged).decode
_TAGS = frozenset(str(kind.__struct_config__.tag) for kind in EVENT_TYPES)


@cache
def _load_decoder() -> Callable[[bytes], Event]:
    """Return the decoder of events. It is made on first use: a program that only decodes provider
    streams does not need it, and it takes a tenth of the whole import."""
    return msgspec.json.Decoder(Event).decode


def encode_event(event: Event | UnknownEvent) -> bytes:
    """Encode one event as JSON."""
    return event.data if isinstance(event, UnknownEvent) else _encoder.encode(event)


def decode_event(data: bytes) -> Event | UnknownEvent:
    """Decode one event. An unknown tag gives an `UnknownEvent`; a known tag with fields of the
    wrong type raises `msgspec.ValidationError`."""
    try:
        return _load_decoder()(data)
    except msgspec.ValidationError:
        tag = _decode_tag(data).type
        if tag in _TAGS:
            raise
        return UnknownEvent(tag, bytes(data))


def encode_record(record: Record) -> bytes:
    """Encode one record as one line of JSON, without the line end."""
    event = msgspec.Raw(encode_event(record.event))
    return _encoder.encode(
        _StoredRecord(record.seq, record.at_ms, event, record.path, record.step, record.epoch)
    )


def decode_record(data: bytes) -> Record:
    """Decode one record; its event is decoded like by `decode_event`."""
    stored = _decode_stored(data)
    event = decode_event(bytes(stored.event))
    return Record(stored.seq, stored.at_ms, event, stored.path, stored.step, stored.epoch)
