"""One payload a line."""

from __future__ import annotations

import pytest

from headrace.errors import LimitExceeded
from headrace.wire.framing.frame import Frame
from headrace.wire.framing.ndjson import NDJSONFraming
from headrace.wire.limits import WireLimits


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_each_line_is_a_frame_whatever_its_end(line_end: bytes) -> None:
    document = line_end.join([b'{"a":1}', b'{"b":2}', b""])
    framing = NDJSONFraming()
    assert framing.feed(document) == [Frame(b'{"a":1}'), Frame(b'{"b":2}')]
    assert framing.close() == []
    assert framing.unfinished is None


def test_blank_lines_are_skipped() -> None:
    assert NDJSONFraming().feed(b"\n1\n \t\n\r\n2\n") == [Frame(b"1"), Frame(b"2")]


def test_a_line_comes_as_it_is() -> None:
    assert NDJSONFraming().feed(b"data: 1\n: 2\n 3 \n") == [
        Frame(b"data: 1"),
        Frame(b": 2"),
        Frame(b" 3 "),
    ]


def test_cut_lines_are_joined() -> None:
    framing = NDJSONFraming()
    frames = [frame for at in b'{"a":1}\r\n{"b":2}\n' for frame in framing.feed(bytes([at]))]
    assert frames == [Frame(b'{"a":1}'), Frame(b'{"b":2}')]


def test_a_last_line_without_an_end_is_unfinished() -> None:
    framing = NDJSONFraming()
    assert framing.feed(b'1\n{"a":') == [Frame(b"1")]
    assert framing.close() == []
    assert framing.unfinished == Frame(b'{"a":')


def test_blanks_at_the_end_are_nothing() -> None:
    framing = NDJSONFraming()
    framing.feed(b"1\n  ")
    framing.close()
    assert framing.unfinished is None


def test_a_line_without_an_end_is_bounded() -> None:
    framing = NDJSONFraming(WireLimits(max_line_bytes=3))
    framing.feed(b"abc")
    with pytest.raises(LimitExceeded, match="max_line_bytes=3"):
        framing.feed(b"d")


def test_frames_before_one_that_is_too_large_are_returned_first() -> None:
    framing = NDJSONFraming(WireLimits(max_frame_bytes=3))
    assert framing.feed(b"abc\nabcd\na\n") == [Frame(b"abc")]
    with pytest.raises(LimitExceeded, match="max_frame_bytes=3"):
        framing.feed(b"")


@pytest.mark.parametrize("document", [b"abcd\n", b"abcd"])
def test_a_frame_that_is_too_large_is_named(document: bytes) -> None:
    framing = NDJSONFraming(WireLimits(max_frame_bytes=3))
    with pytest.raises(LimitExceeded, match="max_frame_bytes=3"):  # noqa: PT012
        framing.feed(document)
        framing.close()
