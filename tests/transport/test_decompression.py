"""Compressed although we asked for identity: inflated, with a limit."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest

from tests.transport.drain import failed_with, reads_of
from tests.transport.upstream import END, Peer, answering, chunked, head, whole

TEXT = b"data: {}\n\n" * 500


def _raw_deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(data) + engine.flush()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:70]) + gzip.compress(TEXT[70:])),
        ("x-gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", _raw_deflate(TEXT)),
    ],
    ids=["gzip", "two members", "x-gzip", "zlib", "raw"],
)
def test_a_compressed_stream_is_inflated(name, data):
    start = head("200 OK", "text/event-stream", f"Content-Encoding: {name}")
    pieces = b"".join(chunked(data[at : at + 7]) for at in range(0, len(data), 7))
    reads, failure = reads_of(answering(start + pieces + END))
    assert b"".join(reads) == TEXT
    assert failure is None


@pytest.mark.parametrize(
    ("data", "category"),
    [
        (gzip.compress(TEXT)[:-20], "network"),
        (gzip.compress(TEXT)[:-8] + b"\0" * 8, "protocol"),
    ],
    ids=["cut", "damaged"],
)
def test_a_compressed_stream_that_is_cut_or_damaged_is_said(data, category):
    start = head("200 OK", "text/event-stream", "Content-Encoding: gzip")

    async def answer(peer: Peer) -> None:
        await peer.send(start + chunked(data[:40]))
        await asyncio.sleep(0.05)
        await peer.send(chunked(data[40:]) + END)

    _, failure = reads_of(answer)
    assert failure is not None
    assert failure.category == category


def test_a_compressed_error_is_read():
    body = gzip.compress(b'{"error": {"type": "overloaded_error", "message": "busy"}}')
    failed = failed_with(answering(whole("529 Busy", body, "Content-Encoding: gzip")))
    assert failed.category == "overloaded"
