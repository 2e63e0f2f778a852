"""Framings of recorded_reads files: by name, then by the first bytes."""

from __future__ import annotations

import pytest

from headrace.cli.sources.framing_guess import (
    framing_by_name,
    framing_by_start,
    is_stream_name,
)
from headrace.errors import InputError
from tests.aws import aws_message


@pytest.mark.parametrize(
    ("name", "framing"),
    [
        ("a.sse", "sse"),
        ("a.jsonl.sse", "sse"),
        ("a.squeezed.sse", "squeezed-sse"),
        ("a.ndjson", "ndjson"),
        ("a.1.jsonl", "lines"),
        ("a.json", "json-array"),
        ("a.grpc", "grpc"),
        ("a.eventstream", "aws-event-stream"),
        ("a.nul", "nul-json"),
        ("A.SSE", "sse"),
        ("a.txt", None),
        ("sse", None),
    ],
)
def test_the_ending_tells(name: str, framing: str | None) -> None:
    assert framing_by_name(name) == framing


def test_a_list_of_reads_is_no_stream() -> None:
    with pytest.raises(InputError, match="name the stream itself"):
        framing_by_name("a.sse.chunks.json")


@pytest.mark.parametrize(
    ("start", "framing"),
    [
        (b"data: {}", "sse"),
        (b"event: x\n", "sse"),
        (b"id: 1\n", "sse"),
        (b"retry: 3\n", "sse"),
        (b": hi\n\n", "sse"),
        (b"\xef\xbb\xbfdata: {}\n\n", "sse"),
        (b"\r\n\r\ndata: {}\n\n", "sse"),
        (b'{"a": 1}\n', "lines"),
        (b'{"a": 1}\n{"a": "\0"}', "lines"),
        (b'{"text": ["long enough"]}\0{"text":', "nul-json"),
        (b"\0\0\0\0\x02\n\0", "grpc"),
        (b"\0\0\0\0\x02\n\0\0\0\0\0\x02\n\0", "grpc"),
        (aws_message(b"{}"), "aws-event-stream"),
        (aws_message(b"\n" * 0x0A0A), "aws-event-stream"),
        (b'[{"a": 1}]', "json-array"),
        (b'{\n  "error": {}\n}', "json-array"),
    ],
)
def test_the_first_bytes_tell_however_they_come(start: bytes, framing: str) -> None:
    for size in (1, 2, 3, len(start)):
        pieces = [start[at : at + size] for at in range(0, len(start), size)]
        name, chunks = framing_by_start(iter(pieces))
        assert name == framing
        assert list(chunks) == pieces


def test_unknown_bytes_are_a_problem_that_lists_the_framings() -> None:
    with pytest.raises(InputError, match="--framing: sse, ndjson"):
        framing_by_start(iter([b"<html>"]))


def test_nothing_is_said_to_be_empty() -> None:
    with pytest.raises(InputError, match="empty"):
        framing_by_start(iter([b" \n"]))


@pytest.mark.parametrize(
    ("name", "is_stream"),
    [
        ("a.sse", True),
        ("a.eventstream", True),
        ("a.nul", True),
        ("a.json", True),
        ("a.sse.chunks.json", False),
        (".a.sse", False),
        ("a.txt", False),
    ],
)
def test_folders_are_searched_by_ending(name: str, is_stream: bool) -> None:
    assert is_stream_name(name) is is_stream
