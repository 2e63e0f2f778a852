"""Lines out of bytes."""

from __future__ import annotations

import pytest

from headrace.errors import LimitExceeded, WireError
from headrace.wire.framing.splitter import LineSplitter
from headrace.wire.limits import WireLimits


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_ends_a_line(line_end: bytes) -> None:
    splitter = LineSplitter()
    assert splitter.feed(line_end.join([b"a", b"", b"b", b"c"])) == [b"a", b"", b"b"]
    assert splitter.close() == b"c"
    assert splitter.close() == b""


def test_line_ends_may_be_mixed() -> None:
    assert LineSplitter().feed(b"a\nb\rc\r\n\n\rd\n") == [b"a", b"b", b"c", b"", b"", b"d"]


def test_a_cut_line_is_joined() -> None:
    splitter = LineSplitter()
    assert [splitter.feed(read) for read in (b"a", b"b", b"", b"c\nd", b"\n")] == [
        *([], [], []),
        [b"abc"],
        [b"d"],
    ]


def test_lf_after_a_cr_of_the_read_before_ends_no_second_line() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"a\r") == [b"a"]
    assert splitter.feed(b"") == []
    assert splitter.feed(b"\nb\r") == [b"b"]
    assert splitter.feed(b"\n\n") == [b""]
    assert splitter.feed(b"c\r") == [b"c"]
    assert splitter.feed(b"d\n") == [b"d"]


def test_is_empty_only_where_nothing_is_remembered() -> None:
    splitter = LineSplitter()
    assert not splitter.is_empty
    for read, is_empty in ((b"a\n", True), (b"b", False), (b"\n", True), (b"\r", False)):
        splitter.feed(read)
        assert splitter.is_empty == is_empty


def test_byte_order_mark_is_dropped_at_the_start_only() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"\xef\xbb") == []
    assert splitter.feed(b"\xbfa\n\xef\xbb\xbfb\n") == [b"a", b"\xef\xbb\xbfb"]


def test_half_a_byte_order_mark_is_part_of_its_line() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"\xef") == []
    assert splitter.feed(b"a\n") == [b"\xefa"]


def test_lines_before_one_that_is_too_long_are_returned_first() -> None:
    splitter = LineSplitter(WireLimits(max_line_bytes=3))
    assert splitter.feed(b"abc\nabcd\na\n") == [b"abc"]
    with pytest.raises(LimitExceeded, match="max_line_bytes=3"):
        splitter.feed(b"a\n")


@pytest.mark.parametrize("reads", [[b"abcd"], [b"abcd\n"], [b"ab", b"cd"], [b"ab", b"cd\n"]])
def test_a_line_that_is_too_long_raises_at_once_where_none_came_before(reads: list[bytes]) -> None:
    splitter = LineSplitter(WireLimits(max_line_bytes=3))
    for read in reads[:-1]:
        splitter.feed(read)
    with pytest.raises(LimitExceeded):
        splitter.feed(reads[-1])


def test_reads_longer_than_a_line_may_be_are_no_failure() -> None:
    assert LineSplitter(WireLimits(max_line_bytes=3)).feed(b"abc\n" * 9) == [b"abc"] * 9


def test_a_held_failure_is_raised_by_feed_and_by_close() -> None:
    splitter = LineSplitter()
    splitter.hold(WireError("no"))
    with pytest.raises(WireError, match="no"):
        splitter.feed(b"a\n")
    with pytest.raises(WireError, match="no"):
        splitter.close()


def test_raise_held_is_quiet_where_nothing_is_held() -> None:
    splitter = LineSplitter()
    splitter.raise_held()
    splitter.hold(WireError("no"))
    with pytest.raises(WireError, match="no"):
        splitter.raise_held()
