"""What all framings share: one suite over every one of them."""

from __future__ import annotations

import pytest

from headrace.wire.framing import FRAMINGS, Frame
from headrace.wire.limits import WireLimits
from tests.aws import aws_message

DOCUMENTS = {
    "sse": b"data: {}\n\ndata: []\n\n",
    "ndjson": b"{}\n[]\n",
    "json-array": b"[{},[]]",
    "lines": b"{}\n[]\n",
    "squeezed-sse": b"data: {}\ndata: []\n",
    "grpc": b"\0\0\0\0\x02{}\0\0\0\0\x02[]",
    "aws-event-stream": aws_message(b"{}") + aws_message(b"[]"),
    "nul-json": b"{}\0[]\0",
}


def test_every_framing_has_a_document_here() -> None:
    assert set(DOCUMENTS) == set(FRAMINGS)


@pytest.mark.parametrize("name", FRAMINGS)
def test_a_document_gives_its_frames_whole_and_byte_by_byte(name: str) -> None:
    document = DOCUMENTS[name]
    for size in (1, len(document)):
        framing = FRAMINGS[name]()
        reads = [document[at : at + size] for at in range(0, len(document), size)]
        frames = [frame for read in reads for frame in framing.feed(read)]
        assert frames + framing.close() == [Frame(b"{}"), Frame(b"[]")]
        assert framing.unfinished is None


@pytest.mark.parametrize("name", FRAMINGS)
def test_no_bytes_give_nothing(name: str) -> None:
    framing = FRAMINGS[name](WireLimits())
    assert framing.feed(b"") == framing.close() == []
    assert framing.unfinished is None


def test_a_frame_replaces_invalid_utf8_in_its_text_only() -> None:
    frame = Frame(b"a\xff")
    assert (frame.data, frame.text) == (b"a\xff", "a\ufffd")
