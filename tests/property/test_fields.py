"""Every field of all dialects absent, null and of the wrong type: nothing raises, the
events stay legal, and what stands beside the damaged field is not lost."""

from __future__ import annotations

import copy
import os
import re
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.wire.dialects import DIALECT_NAMES
from tests.fuzz.seeds import STREAMS, WIRE_MODULES, wire_structs
from tests.fuzz.targets import check_events
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, sse

Path = tuple[str | int, ...]

ABSENT = object()
WRONG: dict[str, Any] = {
    "absent": ABSENT,
    "null": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "past a double": msgspec.Raw(b"1e400"),
    "past 64 bits": 10**30,
    "10,000 digits": msgspec.Raw(b"9" * 10_000),
    "empty text": "",
    "text": "x",
    "long text": "y" * 10_000,
    "digits": "12",
    "half a pair": msgspec.Raw(b'"\\ud800"'),
    "empty list": [],
    "empty object": {},
    "list of null": [None],
    "list of lists": [[]],
    "list of numbers": [1, 2],
    "object": {"a": 1},
    "list of objects": [{"a": 1}],
}
WORD = re.compile(r"w\d+")

# Fields that say what the object around them is, or which object is meant: a wrong one
# makes it another object, whose words need not be ours.
NAMING = {
    "type",
    "event_type",
    "index",
    "id",
    "name",
    "output_index",
    "content_index",
    "summary_index",
    "jsonPath",
}
# The fields that tell which block or item an event is about.
PLACES = ("index", "output_index")


def list_payloads() -> Iterator[tuple[str, int]]:
    """The dialect and the number of every payload."""
    for dialect, found in STREAMS.items():
        for number in range(len(found)):
            yield dialect, number


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """The place of every value in a payload, the payload's own included."""
    yield path
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for key, entry in entries:
        yield from paths(entry, (*path, key))


def damaged(dialect: str, number: int, path: Path, wrong: Any) -> bytes:
    """The stream with one value put in the place of another."""
    frames = list(FRAMES[dialect])
    if path:
        payload = copy.deepcopy(STREAMS[dialect][number])
        inside = at(payload, path[:-1])
        if wrong is ABSENT:
            del inside[path[-1]]
        else:
            inside[path[-1]] = wrong
        frames[number] = framed(payload)
    else:
        frames[number] = b"" if wrong is ABSENT else framed(wrong)
    return b"".join(frames) + sse(done=dialect == "chat")


def framed(payload: Any) -> bytes:
    return b"data: " + msgspec.json.encode(payload) + b"\n\n"


FRAMES = {dialect: list(map(framed, payloads)) for dialect, payloads in STREAMS.items()}


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def words(value: Any) -> set[str]:
    """All the words that a value says, however deep."""
    return set(WORD.findall(msgspec.json.encode(value).decode()))


def expected(dialect: str, number: int, path: Path) -> set[str]:
    """The words that must survive. Where a naming field is damaged, those of the object it
    names are excused, and of a block all that its deltas bring."""
    payloads = STREAMS[dialect]
    everything = words(payloads)
    if not path:
        return everything - words(payloads[number]) - _of_block(payloads, number)
    if path[-1] not in NAMING:
        return everything - words(at(payloads[number], path))
    around = words(at(payloads[number], path[:-1]))
    if dialect == "xai" and path[-1] == "type":
        # Whose call it is: the status of one of ours is none of its words.
        around |= {"w6"}
    return everything - around - _of_block(payloads, number)


def _of_block(payloads: list[Any], number: int) -> set[str]:
    """All words of the block or item that an event belongs to."""
    place = _place(payloads[number])
    if place is None:
        return set()
    return words([payload for payload in payloads if _place(payload) == place])


def _place(payload: Any) -> Any:
    return next((payload[name] for name in PLACES if name in payload), None)


def chosen(number: int, path: Path) -> list[str]:
    """The wrong values for one field: nothing, null and a sixth of the others, another one for
    each field; in `make soak` all of them."""
    if "HEADRACE_SOAK_MUTATIONS" in os.environ:
        return list(WRONG)
    nothing, null, *others = WRONG
    share = zlib.crc32(f"{number} {path}".encode()) % 6
    return [nothing, null, *others[share::6]]


@pytest.mark.parametrize(("dialect", "number"), list(list_payloads()))
def test_a_wrong_field_raises_nothing_and_loses_no_neighbour(dialect: str, number: int) -> None:
    for path in paths(STREAMS[dialect][number]):
        check_field(dialect, number, path)


def check_field(dialect: str, number: int, path: Path) -> None:
    """Replace one field by wrong values, each in a stream of its own."""
    kept = expected(dialect, number, path)
    for name in chosen(number, path):
        wrong = WRONG[name]
        events = events_of(damaged(dialect, number, path, wrong), dialect)
        check_grammar(events)
        assert msgspec.json.encode(message_of(events))
        end = events[-1]
        if isinstance(end, ev.TurnFailed) and may_fail(path, end):
            continue
        if is_replaced(dialect, number, path, name) or is_ended(path, name):
            continue
        lost = kept - words(events)
        assert not lost, f"{path}, {name}: {sorted(lost)} got lost; {end}"


def is_replaced(dialect: str, number: int, path: Path, name: str) -> bool:
    """A block that we do not know grows by what its deltas bring; a value of another type
    takes the old one's place, but null and an empty list bring nothing."""
    delta = STREAMS[dialect][number].get("delta", {})
    nothing = {"absent", "null"} | ({"empty list"} if "list" in path else set())
    is_odd = isinstance(delta, dict) and delta.get("type") == "odd_delta"
    return is_odd and name not in nothing


def is_ended(path: Path, name: str) -> bool:
    """A line of Ollama that says it is the last one is, and a special token is no text."""
    return path in (("done",), ("token", "special")) and name == "true"


def may_fail(path: Path, end: ev.TurnFailed) -> bool:
    """An error that is told, an end that is not told, and arguments that come for a call
    which a wrong id, number or name has ended, are failures by design."""
    if "error" in path:
        return True
    if end.category == "incomplete" or "no finish reason" in end.message:
        ends = {"finish_reason", "stop_reason", "choices", "delta", 0, 1}
        # Bytes of an agent that are no base64 are a frame that could not be read.
        return not path or path[-1] in ends or path == ("chunk", "bytes")
    if "continued after its end" in end.message:
        return path[-1] in {"index", "finish_reason"}
    return "which had ended" in end.message and bool({"tool_calls", "index"} & set(path))


@pytest.mark.parametrize("dialect", STREAMS)
def test_a_wrong_first_payload_raises_nothing_while_the_dialect_is_unknown(dialect: str) -> None:
    for path in paths(STREAMS[dialect][0]):
        for name in chosen(0, path):
            check_events(events_of(damaged(dialect, 0, path, WRONG[name])))


@pytest.mark.parametrize("dialect", STREAMS)
def test_the_undamaged_stream_says_every_word_and_uses_every_field(dialect: str) -> None:
    events = events_of(b"".join(FRAMES[dialect]), dialect)
    check_events(events)
    assert isinstance(events[-1], ev.TurnFinished)
    assert words(events) == words(STREAMS[dialect])


def test_every_dialect_has_a_stream_here() -> None:
    assert set(STREAMS) == set(WIRE_MODULES) == set(DIALECT_NAMES)


def test_every_field_of_the_wire_structs_is_damaged() -> None:
    """A field that is read from now on must stand in the streams too."""
    for dialect, payloads in STREAMS.items():
        used = {step for payload in payloads for path in paths(payload) for step in path}
        for kind in wire_structs(dialect):
            names = {field.encode_name for field in msgspec.structs.fields(kind)}
            missing = names - used - {"error"}
            assert not missing, f"{dialect} {kind.__name__}: {missing}"
