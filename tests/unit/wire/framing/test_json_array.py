"""A JSON array, element by element."""

from __future__ import annotations

import time
import tracemalloc

import msgspec
import pytest

from headrace.errors import LimitExceeded, WireError
from headrace.wire.framing.frame import Frame
from headrace.wire.framing.json_array import JSONArrayFraming
from headrace.wire.limits import WireLimits

DOCUMENTS: dict[str, tuple[bytes, list[bytes]]] = {
    "objects": (b'[{"a":1},\n{"b":[2,{}]}\n,\r\n{}]\n', [b'{"a":1}', b'{"b":[2,{}]}', b"{}"]),
    "an empty array": (b" [ ] ", []),
    "nothing": (b"", []),
    "blanks": (b" \n", []),
    "brackets in strings": (b'[{"a":"]}[{"},{"]":1}]', [b'{"a":"]}[{"}', b'{"]":1}']),
    "quotes in strings": (b'[{"a":"\\"]"},{"b":"\\\\"}]', [b'{"a":"\\"]"}', b'{"b":"\\\\"}']),
    "an LF behind a backslash": (b'[{"a":"\\\n"}]', [b'{"a":"\\\n"}']),
    "arrays": (b"[[1],[[]],[]]", [b"[1]", b"[[]]", b"[]"]),
    "strings": (b'["a", "\\"" ,"]"]', [b'"a"', b'"\\""', b'"]"']),
    "scalars": (b"[1, -2.5e+3 ,true\n,null]", [b"1", b"-2.5e+3", b"true", b"null"]),
    "an object instead": (b'\n{"error":{"code":400}}\n', [b'{"error":{"code":400}}']),
    "an array that is cut": (b'[{"a":1},{"b":2}', [b'{"a":1}', b'{"b":2}']),
}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_elements_are_frames_however_they_are_cut(name: str, size: int) -> None:
    document, elements = DOCUMENTS[name]
    framing = JSONArrayFraming()
    reads = [document[at : at + size] for at in range(0, len(document), size)]
    assert [frame.data for read in reads for frame in framing.feed(read)] == elements
    assert framing.close() == []
    assert framing.unfinished is None


def test_an_element_comes_with_its_last_byte() -> None:
    framing = JSONArrayFraming()
    assert framing.feed(b'[{"a":1') == []
    assert framing.feed(b"}") == [Frame(b'{"a":1}')]


@pytest.mark.parametrize("element", [b'{"a":', b'{"a":"b\\', b'"a', b"12", b"["])
def test_an_element_that_is_cut_is_unfinished(element: bytes) -> None:
    framing = JSONArrayFraming()
    assert framing.feed(b"[{}," + element) == [Frame(b"{}")]
    assert framing.close() == []
    assert framing.unfinished == Frame(element)


@pytest.mark.parametrize(
    "document",
    [
        b"<html>",
        b"1",
        b'"a"',
        b"data: {}",
        b"]",
        b",",
        b"[,",
        b"[x",
        b"[}",
        b"[{]",
        b"[[}",
    ],
)
def test_what_is_no_array_raises(document: bytes) -> None:
    with pytest.raises(WireError):
        JSONArrayFraming().feed(document)


@pytest.mark.parametrize("rest", [b"{}", b"]", b",x", b"]x", b"][", b",]", b"},"])
@pytest.mark.parametrize("size", [1, 1000])
def test_elements_before_what_is_none_are_returned_first(rest: bytes, size: int) -> None:
    document = b"[1,{}" + rest
    framing = JSONArrayFraming()
    frames: list[Frame] = []
    if rest == b"]":
        document += b"{}"
    with pytest.raises(WireError):  # noqa: PT012 (any of the calls may raise)
        for at in range(0, len(document), size):
            frames += framing.feed(document[at : at + size])
        framing.close()
    assert frames == [Frame(b"1"), Frame(b"{}")]


def test_a_failure_that_was_held_back_is_raised_by_the_next_read() -> None:
    framing = JSONArrayFraming()
    assert framing.feed(b"[{}x") == [Frame(b"{}")]
    with pytest.raises(WireError):
        framing.feed(b"")


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("element", [b'"234567890', b"1234567890", b"[234567890", b'{"":"\\"\\"\\'])
def test_an_element_is_bounded_while_it_grows(element: bytes, size: int) -> None:
    framing = JSONArrayFraming(WireLimits(max_frame_bytes=10))
    document = b"[" + element
    for at in range(0, len(document), size):
        framing.feed(document[at : at + size])
    with pytest.raises(LimitExceeded, match="max_frame_bytes=10"):
        framing.feed(b"11")


def test_elements_of_the_allowed_size_pass() -> None:
    framing = JSONArrayFraming(WireLimits(max_frame_bytes=4))
    assert framing.feed(b'[1234,"23",[2 ],{}  ]') == [
        Frame(b"1234"),
        Frame(b'"23"'),
        Frame(b"[2 ]"),
        Frame(b"{}"),
    ]


def test_nesting_inside_an_element_is_bounded() -> None:
    framing = JSONArrayFraming(WireLimits(max_depth=3))
    assert framing.feed(b'[{"a":[{}]},') == [Frame(b'{"a":[{}]}')]
    with pytest.raises(LimitExceeded, match="max_depth=3"):
        framing.feed(b'{"a":[{"b":[')


def test_a_bomb_of_brackets_ends_at_the_limit() -> None:
    with pytest.raises(LimitExceeded, match="max_depth="):
        JSONArrayFraming().feed(b"[" * 1_000_000)


HARD = {
    "one long string": b'"' + b"x" * 400_000 + b'"',
    "one string of escapes": b'"' + b'\\"' * 200_000 + b'"',
    "many strings": b'["' + b'","' * 130_000 + b'"]',
    "many brackets": b"[" + b"[],{}," * 60_000 + b"1]",
}


@pytest.mark.parametrize("what", HARD)
def test_no_cut_makes_an_element_costly(what: str) -> None:
    document = b"[" + HARD[what] + b"]"
    msgspec.json.decode(document)
    started = time.perf_counter()
    for size in (7, 1000, len(document)):
        framing = JSONArrayFraming()
        reads = [document[at : at + size] for at in range(0, len(document), size)]
        assert [frame.data for read in reads for frame in framing.feed(read)] == [HARD[what]]
    # Linear work takes a fraction of a second here; rescanning would take minutes.
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize("size", [2, 1000])
@pytest.mark.parametrize("what", HARD)
def test_an_endless_element_takes_no_more_memory_than_twice_the_limit(what: str, size: int) -> None:
    limit = 100_000
    document = b"[" + HARD[what]
    reads = [document[at : at + size] for at in range(0, len(document), size)]
    framing = JSONArrayFraming(WireLimits(max_frame_bytes=limit))
    tracemalloc.start()
    try:
        with pytest.raises(LimitExceeded):  # noqa: PT012
            for read in reads:
                framing.feed(read)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2.3 * limit
