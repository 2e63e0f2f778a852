"""One payload a line, with or without what is left of SSE."""

from __future__ import annotations

import pytest

from headrace.errors import LimitExceeded
from headrace.wire.framing.frame import Frame
from headrace.wire.framing.line import LineFraming
from headrace.wire.limits import WireLimits


def test_each_line_is_a_frame_with_or_without_its_field_name() -> None:
    assert LineFraming().feed(b'{"a":1}\ndata: {"b":2}\r\ndata:{"c":3}\n[DONE]\n') == [
        Frame(b'{"a":1}'),
        Frame(b'{"b":2}'),
        Frame(b'{"c":3}'),
        Frame(b"[DONE]"),
    ]


def test_event_and_id_lines_belong_to_the_next_payload() -> None:
    assert LineFraming().feed(b"event: e\nid: 1\n{}\n{}\n") == [
        Frame(b"{}", "e", last_event_id="1"),
        Frame(b"{}", last_event_id="1"),
    ]


def test_comments_and_blank_lines_are_skipped() -> None:
    assert LineFraming().feed(b": hi\n\n  \n{}\n\n") == [Frame(b"{}")]


def test_a_bare_line_comes_as_it_is() -> None:
    assert LineFraming().feed(b' {"a": "data: "}\nwhat\n') == [
        Frame(b' {"a": "data: "}'),
        Frame(b"what"),
    ]


def test_extra_fields_are_frames() -> None:
    assert LineFraming(extra_fields=("error",)).feed(b"error: e\n{}\n") == [
        Frame(b"e", field="error"),
        Frame(b"{}"),
    ]


@pytest.mark.parametrize("rest", [b'{"a":', b'data: {"a":'])
def test_a_last_line_without_an_end_is_unfinished(rest: bytes) -> None:
    framing = LineFraming()
    assert framing.feed(b"{}\n" + rest) == [Frame(b"{}")]
    assert framing.close() == []
    assert framing.unfinished == Frame(b'{"a":')


@pytest.mark.parametrize("rest", [b"", b"  ", b": hi", b"event: e"])
def test_a_rest_without_a_payload_is_nothing(rest: bytes) -> None:
    framing = LineFraming()
    framing.feed(b"{}\n" + rest)
    framing.close()
    assert framing.unfinished is None


def test_limits_hold_for_bare_lines() -> None:
    with pytest.raises(LimitExceeded, match="max_frame_bytes=3"):
        LineFraming(WireLimits(max_frame_bytes=3)).feed(b"1234\n")
    with pytest.raises(LimitExceeded, match="max_line_bytes=3"):
        LineFraming(WireLimits(max_line_bytes=3)).feed(b"1234")
