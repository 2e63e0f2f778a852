"""What the fuzzer calls: any bytes at all, and every promise that needs no second decoder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from headrace import events as ev
from headrace.events import Record, decode_record, encode_record
from headrace.messages import Message, fold, fold_candidates, history
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import FRAMINGS
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits
from tests.grammar import check_grammar
from tests.wire import events_of, random_cuts, single_bytes

_SMALL = {
    "max_line_bytes": 512,
    "max_frame_bytes": 700,
    "max_headers_bytes": 96,
    "max_total_bytes": 3_000,
    "max_depth": 8,
    "max_part_chars": 64,
    "max_held_chars": 48,
    "max_parts": 8,
}
# Those that are yet to come are numbers of things.
SMALL_LIMITS = WireLimits(**{name: _SMALL.get(name, 3) for name in WireLimits.__struct_fields__})

# Sorted, so that a crash file means the same tomorrow; SSE more often than the rest.
_DIALECTS = (None, *sorted(DIALECT_NAMES))
_FRAMINGS = ("sse", "sse", *sorted(FRAMINGS))
_MAX_SINGLE_BYTES = 300


def options(choice: int) -> dict[str, Any]:
    """The decoder that a first byte stands for."""
    choice, dialect = divmod(choice, len(_DIALECTS))
    choice, framing = divmod(choice, len(_FRAMINGS))
    return {
        "dialect": _DIALECTS[dialect],
        "framing": _FRAMINGS[framing],
        "wire_limits": SMALL_LIMITS if choice % 2 else DEFAULT_WIRE_LIMITS,
    }


def check(data: bytes) -> None:
    """Decode `data[2:]` in the way that the first two bytes choose; assert what must hold."""
    if len(data) < 3:
        return
    chosen, seed, stream = options(data[0]), data[1], data[2:]
    events = events_of(stream, **chosen)
    for reads in _cuts(stream, seed):
        again = events_of(reads, **chosen)
        assert again == events, f"a cut changes the events: {again} is not {events}"
    check_events(events)


def check_events(events: list[ev.TurnEvent]) -> None:
    """The grammar, the way through JSON, and every reader of the events."""
    check_grammar(events)
    records = [Record(seq, seq, event) for seq, event in enumerate(events, 1)]
    for record in records:
        line = encode_record(record)
        again = decode_record(line)
        assert as_json(again) == as_json(record), f"JSON changes {record} to {again}"
        assert encode_record(again) == line
    message = fold(records)
    stored = msgspec.json.encode(message)
    assert as_json(msgspec.json.decode(stored, type=Message)) == as_json(message)
    for candidate in fold_candidates(records):
        history([candidate])
    history([message])


def as_json(value: Any) -> Any:
    """A value as JSON can hold it: infinite numbers, which only arguments and notes can
    have, are null there; and null is what is left out."""
    return _finite(msgspec.to_builtins(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        entries = {key: _finite(entry) for key, entry in value.items()}
        return {key: entry for key, entry in entries.items() if entry is not None}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value


def _cuts(stream: bytes, seed: int) -> Iterator[list[bytes]]:
    yield random_cuts(stream, seed, pieces=1 + seed % 16)
    if len(stream) <= _MAX_SINGLE_BYTES:
        yield single_bytes(stream)
