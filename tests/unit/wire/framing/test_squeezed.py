"""SSE that has lost its blank lines."""

from __future__ import annotations

from headrace.wire.framing.frame import Frame
from headrace.wire.framing.line import SqueezedSSEFraming


def test_every_data_line_ends_its_frame() -> None:
    assert SqueezedSSEFraming().feed(b"data: a\ndata:b\ndata: c\n") == [
        Frame(b"a"),
        Frame(b"b"),
        Frame(b"c"),
    ]


def test_the_event_line_before_names_the_frame() -> None:
    assert SqueezedSSEFraming().feed(b"event: e\ndata: a\ndata: b\nevent: f\ndata: c\n") == [
        Frame(b"a", "e"),
        Frame(b"b"),
        Frame(b"c", "f"),
    ]


def test_blank_lines_that_are_there_do_no_harm() -> None:
    framing = SqueezedSSEFraming()
    reads = [
        b"data: a\n\n",
        b"event: e\ndata: b\n\n",
        b"\n",
        b"event: e\ndata: c\n\n",
        b"data: d\n",
    ]
    assert [frame for read in reads for frame in framing.feed(read)] == [
        Frame(b"a"),
        Frame(b"b", "e"),
        Frame(b"c", "e"),
        Frame(b"d"),
    ]


def test_a_data_line_without_a_colon_ends_its_frame_too() -> None:
    assert SqueezedSSEFraming().feed(b"data\ndata: a\n") == [Frame(b""), Frame(b"a")]


def test_a_last_line_without_an_end_is_unfinished() -> None:
    framing = SqueezedSSEFraming()
    assert framing.feed(b"data: a\nevent: e\ndata: b") == [Frame(b"a")]
    assert framing.close() == []
    assert framing.unfinished == Frame(b"b", "e")


def test_extra_fields_are_frames() -> None:
    framing = SqueezedSSEFraming(extra_fields=("error",))
    assert framing.feed(b"data: a\nerror: e\n") == [Frame(b"a"), Frame(b"e", field="error")]
