"""Reads and their times."""

from __future__ import annotations

import io

from headrace.cli.sources.reads import (
    Read,
    ReadClock,
    arriving,
    chunks_of,
    pace_reads,
    recorded_reads,
)
from headrace.recording.file import Recording
from tests.aws import aws_message


def test_a_large_file_comes_in_pieces() -> None:
    pieces = list(chunks_of(io.BytesIO(b"x" * 200_000)))
    assert max(map(len, pieces)) <= 64 * 1024
    assert sum(map(len, pieces)) == 200_000


def test_without_recorded_times_each_event_is_a_read() -> None:
    chunks = [b"event: a\r\ndata: 1\r\n\r\ndata: 2\n\nda", b"ta: 3\n\n"]
    assert list(pace_reads(chunks, "sse", 50)) == [
        Read(0, b"event: a\r\ndata: 1\r\n\r\n"),
        Read(20, b"data: 2\n\n"),
        Read(40, b"da"),
        Read(40, b"ta: 3\n\n"),
    ]


def test_elsewhere_each_line_is_a_read() -> None:
    assert list(pace_reads([b"{}\n{}\n{}"], "lines", 10)) == [
        Read(0, b"{}\n"),
        Read(100, b"{}\n"),
        Read(200, b"{}"),
    ]


def test_each_payload_that_ends_in_nul_is_a_read() -> None:
    assert [read.data for read in pace_reads([b"{}\0{}\0{"], "nul-json", 10)] == [
        b"{}\0",
        b"{}\0",
        b"{",
    ]


def test_each_message_of_an_aws_event_stream_is_a_read() -> None:
    one, two = aws_message(b"{}\n"), aws_message(b"[]")
    stream = one + two + b"\0" * 13
    for chunks in ([stream], [stream[at : at + 1] for at in range(len(stream))]):
        reads = list(pace_reads(chunks, "aws-event-stream", 50))
        assert reads[:2] == [Read(0, one), Read(20, two)]
        assert b"".join(read.data for read in reads) == stream


def test_recorded_pauses_add_up_from_zero_at_the_first_read() -> None:
    recording = Recording([2, 3, 1], [7, 10, 5])
    assert list(recorded_reads([b"aabb", b"bc"], recording, 50)) == [
        Read(0, b"aa"),
        Read(10, b"bb"),
        Read(10, b"b"),
        Read(15, b"c"),
    ]


def test_recorded_reads_without_times_take_the_rate() -> None:
    assert list(recorded_reads([b"abc"], Recording([1, 2]), 50)) == [Read(0, b"a"), Read(20, b"bc")]


def test_empty_reads_and_bytes_past_the_recording_are_taken() -> None:
    recording = Recording([1, 0, 1], [0, 5, 5])
    assert list(recorded_reads([b"abcd"], recording, 50)) == [
        Read(0, b"a"),
        Read(10, b"b"),
        Read(10, b"cd"),
    ]


def test_a_length_larger_than_memory_sizes_nothing() -> None:
    assert list(recorded_reads([b"ab"], Recording([10**18]), 50)) == [Read(0, b"ab")]


def test_arriving_reads_are_timed_from_zero() -> None:
    first, second = arriving([b"a", b"b"])
    assert first == Read(0, b"a")
    assert second.at_ms >= 0


def test_the_clock_tells_the_time_of_the_last_read() -> None:
    clock = ReadClock([Read(3, b"a"), Read(8, b"b")])
    assert [(data, clock()) for data in clock] == [(b"a", 3), (b"b", 8)]
    assert clock() == 8
