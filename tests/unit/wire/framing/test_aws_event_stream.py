"""AWS event streams: no payload is returned that its checksums do not vouch for."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from botocore.eventstream import EventStreamBuffer, ParserError
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.errors import LimitExceeded, WireError
from headrace.wire.framing import AWSEventStreamFraming, Frame
from headrace.wire.framing.aws_event_stream import parse_headers
from headrace.wire.limits import WireLimits
from tests.aws import (
    aws_chunks,
    aws_event,
    aws_events,
    aws_exception,
    aws_header,
    aws_headers,
    aws_message,
)
from tests.corpus import recorded
from tests.wire import events_of, random_cuts, single_bytes

RECORDED = [row for row in recorded.every_row() if row["framing"] == "eventstream"]
each_recorded = pytest.mark.parametrize("row", RECORDED, ids=[row["file"][8:] for row in RECORDED])
shared = pytest.mark.shared(recorded.MANIFEST)
HEADER_VALUES = {
    0: b"",
    1: b"",
    2: b"\x01",
    3: b"\0\x01",
    4: b"\0\0\0\x01",
    5: b"\0" * 7 + b"\x01",
    6: b"\0\x02ab",
    7: b"\0\x02ab",
    8: b"\0" * 8,
    9: b"\0" * 16,
}


def frames_of(*reads: bytes, limits: WireLimits | None = None) -> list[Frame]:
    framing = AWSEventStreamFraming(limits or WireLimits())
    frames = [frame for read in reads for frame in framing.feed(read)]
    return frames + framing.close()


def frames_until_error(data: bytes) -> tuple[list[Frame], str]:
    framing, frames = AWSEventStreamFraming(), list[Frame]()
    try:
        frames += framing.feed(data)
        framing.feed(b"")
        framing.close()
    except WireError as error:
        return frames, str(error)
    return frames, ""


def read_by_botocore(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """The messages up to the first that botocore refuses."""
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    messages = list[tuple[dict[str, Any], bytes]]()
    with suppress(ParserError):
        messages.extend((message.headers, message.payload) for message in buffer)
    return messages


def assert_same(frame: Frame, headers: dict[str, Any], payload: bytes) -> None:
    assert frame.event == headers.get(":event-type", "")
    if frame.data != payload:
        wrapped = msgspec.json.decode(payload, type=dict[str, Any])
        assert msgspec.convert(wrapped["bytes"], bytes) == frame.data


# -- against botocore


@shared
@each_recorded
def test_botocore_reads_the_same_of_every_recorded_stream(row: dict[str, Any]) -> None:
    data = recorded.read(row)
    messages = read_by_botocore(data)
    for reads in ([data], single_bytes(data), random_cuts(data, 1)):
        frames = frames_of(*reads)
        assert len(frames) == len(messages) > 0
        for frame, (headers, payload) in zip(frames, messages, strict=True):
            assert_same(frame, headers, payload)


@shared
@each_recorded
def test_no_flipped_bit_gives_another_payload(row: dict[str, Any]) -> None:
    data = recorded.read(row)[:20_000]
    good = frames_until_error(data)[0]
    rng = random.Random(len(data))
    for _ in range(60):
        place = rng.randrange(len(data) * 8)
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        frames, error = frames_until_error(bytes(flipped))
        assert frames == good[: len(frames)]
        assert error or len(frames) == len(good)


@given(
    st.lists(
        st.sampled_from(
            [
                aws_event("messageStart", {"role": "assistant"}),
                aws_chunks({"a": 1}),
                aws_message(b"{}"),
                aws_message(b"", aws_header("x", b"", 0)),
            ]
        ),
        max_size=4,
    ),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 255)), max_size=3),
)
def test_damaged_bytes_are_refused_where_botocore_refuses_them(
    messages: list[bytes], changes: list[tuple[int, int]]
) -> None:
    data = bytearray(b"".join(messages))
    for place, change in changes:
        if data:
            data[place % len(data)] ^= change
    theirs = read_by_botocore(bytes(data))
    frames, _ = frames_until_error(bytes(data))
    assert len(frames) == len(theirs)
    for frame, (headers, payload) in zip(frames, theirs, strict=True):
        assert_same(frame, headers, payload)


# -- lengths and checksums


def test_every_bit_of_a_message_is_checked() -> None:
    message = aws_event("messageStop", {"stopReason": "end_turn"})
    for place in range(len(message) * 8):
        flipped = bytearray(message)
        flipped[place // 8] ^= 1 << place % 8
        frames, error = frames_until_error(bytes(flipped))
        assert not frames
        assert "checksum" in error


@pytest.mark.parametrize(
    ("prelude", "expected"),
    [
        (b"\0\0\0\x0f\0\0\0\0", "got a length of 15"),
        (b"\0\0\0\0\0\0\0\0", "got a length of 0"),
        (b"\0\0\0\x20\0\0\0\x11", "at least 33 bytes"),
        (b"\0\0\0\x20\xff\xff\xff\xff", "at least 4294967311 bytes"),
    ],
)
def test_an_impossible_length_is_refused_with_the_prelude(prelude: bytes, expected: str) -> None:
    checksum = zlib.crc32(prelude).to_bytes(4, "big")
    with pytest.raises(WireError, match=expected):
        frames_of(*single_bytes(prelude + checksum))


def test_limits_are_named_as_soon_as_a_prelude_passes_them() -> None:
    limits = WireLimits(max_frame_bytes=8, max_headers_bytes=4)
    assert frames_of(aws_message(b"x" * 8), limits=limits) == [Frame(b"x" * 8)]
    with pytest.raises(LimitExceeded, match="max_frame_bytes=8"):
        frames_of(aws_message(b"x" * 9)[:12], limits=limits)
    assert frames_of(aws_message(b"", aws_header("ab", b"", 0)), limits=limits) == [Frame(b"")]
    with pytest.raises(LimitExceeded, match="max_headers_bytes=4"):
        frames_of(aws_message(b"", aws_header("abc", b"", 0))[:12], limits=limits)


def test_no_length_sizes_an_allocation() -> None:
    prelude = b"\xff\xff\xff\xff\0\0\0\0"
    start = prelude + zlib.crc32(prelude).to_bytes(4, "big") + b"x" * 100
    framing = AWSEventStreamFraming(WireLimits(max_frame_bytes=2**32))
    tracemalloc.start()
    try:
        assert framing.feed(start) == []
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


def test_headers_that_never_repeat_do_not_fill_the_memory() -> None:
    framing = AWSEventStreamFraming()
    messages = [aws_message(b"{}", aws_headers(event_type=f"{n:0400}")) for n in range(2_000)]
    tracemalloc.start()
    try:
        for message in messages:
            assert len(framing.feed(message)) == 1
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


def test_complete_messages_before_an_error_come_first() -> None:
    framing = AWSEventStreamFraming()
    assert framing.feed(aws_message(b"a") + b"\0" * 12) == [Frame(b"a")]
    with pytest.raises(WireError):
        framing.feed(b"")
    with pytest.raises(WireError):
        framing.close()


def test_a_message_that_is_cut_off_is_dropped() -> None:
    framing = AWSEventStreamFraming()
    assert framing.feed(aws_message(b"a") + aws_message(b"secret")[:-1]) == [Frame(b"a")]
    assert framing.close() == []
    assert framing.unfinished == Frame(b"", field="cut")


# -- headers


@pytest.mark.parametrize("kind", HEADER_VALUES)
def test_headers_of_every_type_are_passed_over(kind: int) -> None:
    other = aws_header("other", HEADER_VALUES[kind], kind)
    for headers in (other + aws_headers(event_type="e"), aws_headers(event_type="e") + other):
        assert frames_of(aws_message(b"{}", headers)) == [Frame(b"{}", "e")]


@pytest.mark.parametrize(
    "headers",
    [
        aws_header("a", b"", 10),
        aws_header("a", b"\0\x05ab", 7),
        aws_header("a", b"\0\0\0", 4),
        aws_header("a", b"\0\x01\xff", 7),
        aws_header("a", b"", 0) * 2,
        b"\x05ab",
        b"\x01a",
    ],
    ids=["type", "long string", "short number", "UTF-8", "twice", "long name", "no type"],
)
def test_broken_headers_are_refused(headers: bytes) -> None:
    with pytest.raises(WireError):
        frames_of(aws_message(b"{}", headers))


@given(st.binary(max_size=40))
def test_any_bytes_are_headers_or_refused(data: bytes) -> None:
    with suppress(WireError):
        parse_headers(data)


# -- payloads


def test_a_chunk_is_unwrapped() -> None:
    assert frames_of(aws_chunks({"type": "ping"})) == [Frame(b'{"type":"ping"}', "chunk", "bytes")]


@pytest.mark.parametrize(
    "payload", [{"bytes": "!"}, {"bytes": "YQ==", "attribution": {}}, {"a": 1}, ["YQ=="]]
)
def test_a_chunk_that_holds_something_else_stays_as_it_is(payload: Any) -> None:
    expected = Frame(msgspec.json.encode(payload), "chunk")
    assert frames_of(aws_event("chunk", payload)) == [expected]


def test_only_chunks_are_unwrapped() -> None:
    assert frames_of(aws_event("image", {"bytes": "YQ=="})) == [Frame(b'{"bytes":"YQ=="}', "image")]


# -- exceptions

EXCEPTIONS = [
    ("throttlingException", "rate_limit", True),
    ("validationException", "invalid_request", False),
    ("internalServerException", "server", True),
    ("modelStreamErrorException", "server", True),
    ("serviceUnavailableException", "overloaded", True),
    ("modelTimeoutException", "timeout", True),
    ("accessDeniedException", "permission", False),
    ("resourceNotFoundException", "not_found", False),
    ("somethingNewException", "unknown", False),
]
ANTHROPIC_START = {"type": "message_start", "message": {"id": "r", "role": "assistant"}}


@pytest.mark.parametrize(("kind", "category", "retryable"), EXCEPTIONS)
@pytest.mark.parametrize("begun", [b"", aws_chunks(ANTHROPIC_START)], ids=["first", "later"])
def test_an_exception_fails_the_turn(
    kind: str, category: str, retryable: bool, begun: bytes
) -> None:
    data = begun + aws_exception(kind, b'{"message":"no more"}')
    for reads in ([data], single_bytes(data)):
        end = events_of(reads, framing="aws-event-stream")[-1]
        assert isinstance(end, ev.TurnFailed)
        assert (end.category, end.retryable) == (category, retryable)
        assert (end.code, end.message) == (kind, "no more")


def test_the_message_of_an_exception_may_be_missing_or_no_json() -> None:
    for payload, message in [(b"", "the provider gave no message"), (b"oops", "oops")]:
        data = aws_exception("throttlingException", payload)
        end = events_of(data, framing="aws-event-stream")[-1]
        assert isinstance(end, ev.TurnFailed)
        assert end.category == "rate_limit"
        assert end.message.startswith(message)


def test_an_error_is_described_by_its_headers() -> None:
    headers = aws_headers(
        message_type="error", error_code="InternalServerException", error_message="boom"
    )
    end = events_of(aws_message(b"", headers), framing="aws-event-stream")[-1]
    assert isinstance(end, ev.TurnFailed)
    assert (end.category, end.code, end.message) == ("server", "InternalServerException", "boom")


def test_a_prompt_that_is_too_long_is_a_context_overflow() -> None:
    payload = b'{"message":"Input is too long for requested model."}'
    data = aws_exception("validationException", payload)
    end = events_of(data, framing="aws-event-stream")[-1]
    assert isinstance(end, ev.TurnFailed)
    assert end.category == "context_overflow"


def test_a_wrong_checksum_fails_the_turn() -> None:
    good = aws_chunks(ANTHROPIC_START)
    broken = bytearray(aws_events({"chunk": {"bytes": "e30="}}))
    broken[-6] ^= 1
    end = events_of(good + bytes(broken), framing="aws-event-stream")[-1]
    assert isinstance(end, ev.TurnFailed)
    assert end.category == "protocol"
    assert "checksum" in end.message
