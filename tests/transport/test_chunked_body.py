"""The chunked coding: the same content however the bytes are cut, and nothing else is accepted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.transport.body.chunked_body import ChunkedBody, ChunkingBroken

EXTENSIONS = st.sampled_from([b"", b";a", b" ; name=value", b'\t;q="x y"'])
SIZES = st.sampled_from([b"%x", b"%X", b"0%x", b"00000%x"])
END = b"0\r\n\r\n"


@st.composite
def bodies(draw) -> tuple[bytes, bytes]:
    """Content, and its chunked form."""
    contents = draw(st.lists(st.binary(min_size=1, max_size=40), max_size=6))
    wire = b""
    for content in contents:
        size = draw(SIZES) % len(content)
        wire += size + draw(EXTENSIONS) + b"\r\n" + content + b"\r\n"
    trailer = draw(st.sampled_from([b"", b"a: b\r\n", b"a: b\r\nc: d\r\n"]))
    return b"".join(contents), wire + b"0\r\n" + trailer + b"\r\n"


@given(bodies(), st.data())
def test_any_slicing_gives_the_same_content(body: tuple[bytes, bytes], data: st.DataObject):
    content, wire = body
    cuts = data.draw(st.lists(st.integers(0, len(wire)), max_size=12).map(sorted))
    chunks = ChunkedBody()
    read = b"".join(
        chunks.feed(wire[start:end])
        for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)
    )
    assert read == content
    assert chunks.is_finished
    assert not chunks.excess


@given(bodies())
def test_byte_by_byte_gives_the_same_content(body: tuple[bytes, bytes]):
    content, wire = body
    chunks = ChunkedBody()
    assert b"".join(chunks.feed(wire[at : at + 1]) for at in range(len(wire))) == content
    assert chunks.is_finished


@given(bodies(), st.integers(1, 200))
def test_a_cut_body_is_not_finished(body: tuple[bytes, bytes], lost: int):
    content, wire = body
    chunks = ChunkedBody()
    read = chunks.feed(wire[: max(0, len(wire) - lost)])
    assert content.startswith(read)
    assert not chunks.is_finished


def test_what_follows_the_end_is_told():
    chunks = ChunkedBody()
    assert chunks.feed(b"1\r\nx\r\n" + END + b"HTTP/1.1 200 OK") == b"x"
    assert chunks.is_finished
    assert chunks.excess == b"HTTP/1.1 200 OK"


NOT_CHUNKED = (
    b"+5\r\nhello\r\n",
    b"-5\r\nhello\r\n",
    b"1_0\r\n0123456789abcdef\r\n",
    b"0x5\r\nhello\r\n",
    b" 5\r\nhello\r\n",
    b"\r\nhello",
    b"g\r\n",
    b"5\nhello\r\n",
    b"data: {}\n\n",
    b";a\r\n",
    b"ffffffffffffffff\r\n",
    b"5\r\nhello!\r\n",
    b"5\r\nhello\n",
    b"5\r\nhello\r\r\n",
)


def feed_bytes(chunks: ChunkedBody, wire: bytes) -> None:
    for at in range(len(wire)):
        chunks.feed(wire[at : at + 1])


@pytest.mark.parametrize("wire", NOT_CHUNKED)
def test_anything_else_is_refused_however_it_is_cut(wire: bytes):
    with pytest.raises(ChunkingBroken):
        ChunkedBody().feed(wire)
    with pytest.raises(ChunkingBroken):
        feed_bytes(ChunkedBody(), wire)


@pytest.mark.parametrize("start", [b"", b"5;", b"0\r\n", b"0\r\na: "])
def test_an_endless_line_is_refused(start: bytes):
    with pytest.raises(ChunkingBroken):
        feed_bytes(ChunkedBody(), start + b"0" * 20_000)


def test_an_endless_trailer_is_refused():
    with pytest.raises(ChunkingBroken, match="trailer"):
        feed_bytes(ChunkedBody(), b"0\r\n" + b"a: b\r\n" * 20_000)
