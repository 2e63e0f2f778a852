"""Each rule of the event stream format, and what Headrace adds to it."""

from __future__ import annotations

import tracemalloc

import pytest

from headrace.errors import LimitExceeded
from headrace.wire.framing.frame import Frame
from headrace.wire.framing.sse import SSEFraming
from headrace.wire.limits import WireLimits

MARK = b"\xef\xbb\xbf"


def read(*reads: bytes) -> list[Frame]:
    framing = SSEFraming()
    return [frame for part in reads for frame in framing.feed(part)] + framing.close()


def single_bytes(document: bytes) -> list[bytes]:
    return [document[at : at + 1] for at in range(len(document))]


ONE = [Frame(b"x")]

RULES: dict[str, tuple[bytes, list[Frame]]] = {
    "LF ends a line": (b"data: x\n\n", ONE),
    "CR ends a line": (b"data: x\r\r", ONE),
    "CRLF ends a line": (b"data: x\r\n\r\n", ONE),
    "line ends may be mixed": (b"data: x\r\n\rdata: y\n\r\n", [Frame(b"x"), Frame(b"y")]),
    "a lone CRLF is one line end, not two": (b"data: x\r\ndata: y\r\n\r\n", [Frame(b"x\ny")]),
    "other separators of Unicode end nothing": (
        "data: a\u2028b\u0085c\x0bd\x0ce\n\n".encode(),
        [Frame("a\u2028b\u0085c\x0bd\x0ce".encode())],
    ),
    "a byte order mark at the start is dropped": (MARK + b"data: x\n\n", ONE),
    "only one byte order mark is dropped": (MARK + MARK + b"data: x\n\ndata: y\n\n", [Frame(b"y")]),
    "a byte order mark later on is data": (b"data: " + MARK + b"\n\n", [Frame(MARK)]),
    "half a byte order mark is no mark": (MARK[:2] + b"data: x\n\ndata: y\n\n", [Frame(b"y")]),
    "one space after the colon is dropped": (
        b"data:x\n\ndata:  x\n\n",
        [Frame(b"x"), Frame(b" x")],
    ),
    "a tab after the colon is data": (b"data:\tx\n\n", [Frame(b"\tx")]),
    "later colons are data": (b"data: a: b\n\n", [Frame(b"a: b")]),
    "spaces at the end are data": (b"data: x  \n\n", [Frame(b"x  ")]),
    "data lines are joined with LF": (b"data: a\ndata:\ndata: b\n\n", [Frame(b"a\n\nb")]),
    "a field without a colon has an empty value": (b"data\n\n", [Frame(b"")]),
    "two empty data lines are one LF": (b"data\ndata\n\n", [Frame(b"\n")]),
    "empty data is an event": (b"data:\n\n", [Frame(b"")]),
    "comments are dropped": (b": hi\ndata: x\n:\n\n:\n\n", ONE),
    "unknown fields are dropped": (b"foo: bar\ndata: x\nerror: e\nDATA: y\n\n", ONE),
    "a field name is not trimmed": (b" data: y\ndata : z\ndata: x\n\n", ONE),
    "event names the frame": (b"event: a\ndata: x\n\n", [Frame(b"x", "a")]),
    "event may come after data": (b"data: x\nevent:a\n\n", [Frame(b"x", "a")]),
    "the last event name stands": (b"event: a\nevent: b\ndata: x\n\n", [Frame(b"x", "b")]),
    "an empty event name undoes the one before": (b"event: a\nevent\ndata: x\n\n", ONE),
    "an event name ends with its frame": (
        b"event: a\ndata: x\n\ndata: y\n\n",
        [Frame(b"x", "a"), Frame(b"y")],
    ),
    "a block without data is no frame and drops its event": (b"event: a\n\ndata: x\n\n", ONE),
    "id stays until the next": (
        b"id: 1\ndata: x\n\ndata: y\n\nid\ndata: z\n\n",
        [Frame(b"x", last_event_id="1"), Frame(b"y", last_event_id="1"), Frame(b"z")],
    ),
    "id of a block without data stays too": (
        b"id: 1\n\ndata: x\n\n",
        [Frame(b"x", "", "data", "1")],
    ),
    "id with NUL is ignored": (b"id: 1\nid: 2\x003\ndata: x\n\n", [Frame(b"x", "", "data", "1")]),
    "retry belongs to its frame": (
        b"retry: 10\ndata: x\n\ndata: y\n\n",
        [Frame(b"x", retry_ms=10), Frame(b"y")],
    ),
    "retry is read as a decimal number": (b"retry:0010\ndata: x\n\n", [Frame(b"x", retry_ms=10)]),
    "retry may be zero": (b"retry: 000\ndata: x\n\n", [Frame(b"x", retry_ms=0)]),
    "retry that is no number is ignored": (
        b"retry: 5\nretry: 1x\nretry:\nretry: -1\nretry:  1\nretry: \xd9\xa3\ndata: x\n\n",
        [Frame(b"x", retry_ms=5)],
    ),
    "retry of endless digits is ignored": (b"retry: " + b"9" * 5000 + b"\ndata: x\n\n", ONE),
    "retry of endless zeros is a number": (
        b"retry: " + b"0" * 5000 + b"7\ndata: x\n\n",
        [Frame(b"x", retry_ms=7)],
    ),
    "invalid UTF-8 is replaced in event and id": (
        b"event: \xff\nid: \xe2\x82\ndata: x\n\n",
        [Frame(b"x", "\ufffd", last_event_id="\ufffd")],
    ),
    "an event without its blank line is no frame": (b"data: x\n\ndata: y\n", ONE),
    "nothing is nothing": (b"", []),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule_holds_whole_and_byte_by_byte(rule: str) -> None:
    document, frames = RULES[rule]
    assert read(document) == frames
    assert read(*single_bytes(document)) == frames


@pytest.mark.parametrize("rule", [rule for rule in RULES if "byte order mark" not in rule])
def test_rule_holds_behind_another_event(rule: str) -> None:
    document, frames = RULES[rule]
    behind = read(b"data: first\n\n", document)
    assert behind == [Frame(b"first"), *frames]


def test_invalid_utf8_is_kept_in_data_and_replaced_in_text() -> None:
    (frame,) = read(b"data: a\xe2\x82\n\n")
    assert frame.data == b"a\xe2\x82"
    assert frame.text == "a\ufffd"


def test_crlf_cut_between_two_reads_is_one_line_end() -> None:
    assert read(b"data: x\r", b"\ndata: y\r", b"", b"\n\r", b"\n") == [Frame(b"x\ny")]


def test_cr_ends_an_event_without_waiting_for_the_next_read() -> None:
    assert SSEFraming().feed(b"data: x\r\r") == ONE


@pytest.mark.parametrize("at", range(1, 5))
def test_byte_order_mark_may_be_cut(at: int) -> None:
    document = MARK + b"data: x\n\n"
    assert read(document[:at], b"", document[at:]) == ONE


ONE_PER_READ: dict[str, tuple[bytes, list[Frame]]] = {
    "data": (b"data: x\n\n", ONE),
    "data in CRLF": (b"data: x\r\n\r\n", ONE),
    "data that is empty": (b"data: \n\n", [Frame(b"")]),
    "data of a colon": (b"data: :\n\n", [Frame(b":")]),
    "named": (b"event: a\ndata: x\n\n", [Frame(b"x", "a")]),
    "named in CRLF": (b"event: a\r\ndata: x\r\n\r\n", [Frame(b"x", "a")]),
    "named by invalid UTF-8": (b"event: \xff\ndata: x\n\n", [Frame(b"x", "\ufffd")]),
    "named by a long name": (
        b"event: " + b"a" * 100 + b"\ndata: x\n\n",
        [Frame(b"x", "a" * 100)],
    ),
    "named, without data": (b"event: a\n\n", []),
    "two data lines": (b"data: x\ndata: y\n\n", [Frame(b"x\ny")]),
    "two data lines, named": (b"event: a\ndata: x\ndata: y\n\n", [Frame(b"x\ny", "a")]),
    "two data lines by CR": (b"data: x\rdata: y\n\n", [Frame(b"x\ny")]),
    "two data lines by CR, named": (b"event: a\ndata: x\rdata: y\n\n", [Frame(b"x\ny", "a")]),
    "two events": (b"data: x\n\ndata: y\n\n", [Frame(b"x"), Frame(b"y")]),
    "two events in CRLF": (b"data: x\r\n\r\ndata: y\r\n\r\n", [Frame(b"x"), Frame(b"y")]),
    "ended by CRLF and LF": (b"data: x\r\n\n", ONE),
    "comment": (b": ping\n\n", []),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("kind", ONE_PER_READ)
def test_one_event_per_read_gives_the_same_again_and_again(kind: str) -> None:
    document, frames = ONE_PER_READ[kind]
    assert read(*[document] * 3) == frames * 3


def test_one_event_per_read_carries_the_id_that_stays() -> None:
    framing = SSEFraming()
    framing.feed(b"id: 7\n\n")
    assert framing.feed(b"data: x\n\n") == [Frame(b"x", last_event_id="7")]
    framing.feed(b"event: a\ndata: y\n\n")
    assert framing.feed(b"event: a\ndata: y\n\n") == [Frame(b"y", "a", last_event_id="7")]


def test_fields_of_an_earlier_read_belong_to_the_event() -> None:
    assert read(b": hi\n\n", b"event: a\n", b"data: x\n\n") == [Frame(b"x", "a")]
    assert read(b": hi\n\n", b"data: x\n", b"data: y\n\n") == [Frame(b"x\ny")]
    assert read(b": hi\n\n", b"retry: 1\n", b"data: x\n\n") == [Frame(b"x", retry_ms=1)]
    assert read(b": hi\n\n", b"x", b"data: x\n\n", b"data: y\n\n") == [Frame(b"y")]


def test_one_event_per_read_goes_on_with_a_line_that_was_cut() -> None:
    assert read(b"data: x\n\nid: ", b"data: y\n\n") == ONE
    assert read(b"data: x\n\nevent: e", b"event: a\ndata: y\n\n") == [
        Frame(b"x"),
        Frame(b"y", "eevent: a"),
    ]


def test_a_cr_before_one_event_per_read_does_not_eat_a_later_lf() -> None:
    assert read(b"data: x\r\r", b"data: y\n\n", b"data: z\n", b"\n") == [
        Frame(b"x"),
        Frame(b"y"),
        Frame(b"z"),
    ]
    assert read(b"data: x\r\r", b"data: y\n\ndata: z", b"\n", b"\n") == [
        Frame(b"x"),
        Frame(b"y"),
        Frame(b"z"),
    ]


@pytest.mark.parametrize("name", [b"", b"event: a\n"])
def test_one_event_per_read_is_bounded_too(name: bytes) -> None:
    for limits in (WireLimits(max_frame_bytes=10), WireLimits(max_line_bytes=16)):
        framing = SSEFraming(limits)
        framing.feed(name + b"data: x\n\n")
        assert framing.feed(name + b"data: 1234567890\n\n")
        with pytest.raises(LimitExceeded):
            framing.feed(name + b"data: 12345678901\n\n")


def test_many_event_names_are_all_read_and_few_are_remembered() -> None:
    framing = SSEFraming()
    for number in range(1000):
        frames = framing.feed(b"event: e%d\ndata: x\n\n" % number)
        assert frames == [Frame(b"x", f"e{number}")]
    assert len(framing._events) <= 64


def test_a_large_read_gives_every_event() -> None:
    payloads = [b"%d" % number * (number % 50 + 1) for number in range(5000)]
    document = b"".join(b"event: a\ndata: " + payload + b"\n\n" for payload in payloads)
    assert read(document) == [Frame(payload, "a") for payload in payloads]


def test_id_and_retry_are_there_for_a_reconnect() -> None:
    framing = SSEFraming()
    assert (framing.last_event_id, framing.retry_ms) == ("", None)
    framing.feed(b"retry: 10\nid: 1\n")
    assert (framing.last_event_id, framing.retry_ms) == ("", 10)
    framing.feed(b"\n")
    assert (framing.last_event_id, framing.retry_ms) == ("1", 10)
    framing.feed(b"id: 2\ndata: cut off")
    framing.close()
    assert (framing.last_event_id, framing.retry_ms) == ("1", 10)


ENDS: dict[str, tuple[bytes, Frame | None]] = {
    "a whole event": (b"data: x\n\n", None),
    "no blank line": (b"event: a\nid: 1\ndata: x\n", Frame(b"x", "a", last_event_id="1")),
    "no line end": (b"data: x", Frame(b"x")),
    "a second line cut off": (b"data: x\ndata: y", Frame(b"x\ny")),
    "no value yet": (b"data:", None),
    "half a field name": (b"data: x\ndat", Frame(b"x")),
    "an event name cut off": (b"data: x\nevent: err", Frame(b"x")),
    "an id cut off": (b"data: x\nid: 1", Frame(b"x")),
    "a retry cut off": (b"data: x\nretry: 1", Frame(b"x")),
    "a retry before": (b"retry: 1\ndata: x", Frame(b"x", retry_ms=1)),
    "a name without data": (b"event: a\n", None),
    "an extra field cut off": (b"error: {", Frame(b"{", field="error")),
    "an extra field that ended": (b"error: {}\n", None),
    "a comment": (b": hi", None),
    "half a byte order mark": (MARK[:2], None),
    "nothing": (b"", None),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_the_end_cut_off_is_unfinished(end: str) -> None:
    document, unfinished = ENDS[end]
    framing = SSEFraming(extra_fields=("error",))
    framing.feed(document)
    assert framing.unfinished is None
    assert framing.close() == []
    assert framing.unfinished == unfinished


def test_a_retry_that_the_end_cut_off_is_none() -> None:
    framing = SSEFraming()
    framing.feed(b"retry: 3000\nretry: 1")
    framing.close()
    assert framing.retry_ms == 3000


def test_extra_field_is_a_frame_of_its_own_at_once() -> None:
    framing = SSEFraming(extra_fields=("error",))
    assert framing.feed(b'error: {"code":500}\n') == [Frame(b'{"code":500}', field="error")]
    assert framing.feed(b"\ndata: x\nerror: e\n") == [Frame(b"e", field="error")]
    assert framing.feed(b"\n") == ONE


def test_extra_field_does_not_touch_one_event_per_read() -> None:
    framing = SSEFraming(extra_fields=("error",))
    framing.feed(b"data: x\n\n")
    assert framing.feed(b"error: e\n\n") == [Frame(b"e", field="error")]
    assert framing.feed(b"data: x\n\n") == ONE


LIMITS = WireLimits(max_line_bytes=20, max_frame_bytes=10)

TOO_MUCH: dict[str, tuple[bytes, str]] = {
    "data in one line": (b"data: " + b"x" * 11 + b"\n\n", "max_frame_bytes"),
    "data without a space": (b"data:" + b"x" * 11 + b"\n\n", "max_frame_bytes"),
    "data over lines": (b"data: xxxxx\ndata: xxxxx\n", "max_frame_bytes"),
    "data lines without data": (b"data\n" * 12, "max_frame_bytes"),
    "an extra field": (b"error: " + b"x" * 11 + b"\n", "max_frame_bytes"),
    "a line of data": (b"data: " + b"x" * 15 + b"\n", "max_line_bytes"),
    "a line without an end": (b"x" * 21, "max_line_bytes"),
    "a comment without an end": (b":" * 21, "max_line_bytes"),
    "an event name": (b"event: " + b"x" * 14 + b"\n", "max_line_bytes"),
    "an id": (b"id: " + b"x" * 17 + b"\n", "max_line_bytes"),
    "unfinished data": (b"data: " + b"x" * 11, "max_frame_bytes"),
}


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("what", TOO_MUCH)
def test_a_limit_is_named_and_what_came_before_is_returned(what: str, size: int) -> None:
    document, limit = TOO_MUCH[what]
    document = b"data: first\n\n" + document
    framing = SSEFraming(LIMITS, extra_fields=("error",))
    frames: list[Frame] = []
    with pytest.raises(LimitExceeded) as caught:  # noqa: PT012 (any of the calls may raise)
        for at in range(0, len(document), size):
            frames += framing.feed(document[at : at + size])
        framing.close()
    assert (caught.value.limit, caught.value.allowed) == (limit, getattr(LIMITS, limit))
    assert frames == [Frame(b"first")]


def test_up_to_the_limits_all_is_well() -> None:
    framing = SSEFraming(LIMITS, extra_fields=("error",))
    document = b"data: " + b"x" * 10 + b"\n\n"
    assert framing.feed(document * 2) == [Frame(b"x" * 10)] * 2
    assert framing.feed(document) == [Frame(b"x" * 10)]
    assert framing.feed(b"event: " + b"e" * 13 + b"\ndata: 1234\ndata: 67890\n\n") == [
        Frame(b"1234\n67890", "e" * 13)
    ]
    assert framing.feed(b":" * 20 + b"\r\n") == []


def test_a_limit_behind_events_of_a_large_read_comes_after_them() -> None:
    framing = SSEFraming(LIMITS)
    events = b"data: x\n\n" * 20_000
    assert framing.feed(events + b":" * 100_000) == [Frame(b"x")] * 20_000
    with pytest.raises(LimitExceeded):
        framing.feed(b"data: x\n\n")
    with pytest.raises(LimitExceeded):
        framing.close()


def test_a_limit_in_a_large_read_without_events_raises_at_once() -> None:
    with pytest.raises(LimitExceeded):
        SSEFraming(LIMITS).feed(b":\n" * 50_000 + b":" * 100_000)


ENDLESS = {
    "comments": b":\n",
    "a comment": b":x",
    "event names": b"event: abcdefgh\n",
    "ids": b"id: abcdefgh\n",
    "retries": b"retry: 99\n",
    "blank lines": b"\r",
    "empty data lines": b"data\n",
    "data lines": b"data: xy\n",
    "data lines without a space": b"data:xy\n",
    "one data line": b"data: ",
    "unknown fields": b"foo\n",
}


@pytest.mark.parametrize("size", [2, 7, 1000])
@pytest.mark.parametrize("what", ENDLESS)
def test_endless_input_takes_no_more_memory_than_twice_the_limit(what: str, size: int) -> None:
    limit = 40_000
    document = ENDLESS[what] * (4 * limit // len(ENDLESS[what]))
    reads = [document[at : at + size] for at in range(0, len(document), size)]
    framing = SSEFraming(WireLimits(max_line_bytes=limit, max_frame_bytes=limit))
    tracemalloc.start()
    try:
        for part in reads:
            framing.feed(part)
    except LimitExceeded:
        pass
    finally:
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak_bytes < 2.3 * limit
