"""The decoder: detection, the one end, what can be read at any time, and its skins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from headrace import ChatQuirks, Decoder, ErrorInfo, UsageError, WireLimits, decode, decode_async
from headrace import events as ev
from headrace.outcome import END_TURN
from headrace.usage import Usage
from tests.wire import chunk, events_of, kinds, message_of, only, sse

HELLO = sse(chunk({"content": "hello"}, usage={"prompt_tokens": 2}), chunk({}, finish="stop"))
MESSAGE = sse(
    {"type": "message_start", "message": {"id": "m"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
    done=False,
)


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        (HELLO, "chat"),
        (MESSAGE, "anthropic"),
        (b'data: {"type":"ping"}\n\n' + MESSAGE, "anthropic"),
        (b'data: {"type":"ping"}\n\n' + HELLO, "chat"),
        (b'data: {"type":"error","error":{"message":"x"}}\n\n', "anthropic"),
        (b'data: {"error":{"message":"x"}}\n\n', "chat"),
        (b"data: [DONE]\n\n", "chat"),
        (b"data: oops\n\n" + MESSAGE, "anthropic"),
        (b"data: 7\n\n" * 20 + MESSAGE, "chat"),
        (b"", "chat"),
    ],
)
def test_the_dialect_is_told_by_the_first_frames(data: bytes, dialect: str) -> None:
    decoder = Decoder()
    decoder.feed(data)
    decoder.close()
    assert decoder.dialect == dialect


def test_frames_before_the_telling_one_are_not_lost() -> None:
    events = events_of(b"data: oops\n\n" + HELLO)
    assert only(events, ev.TurnFinished)[0].skipped_frames == 1


def test_everything_is_readable_at_any_time() -> None:
    decoder = Decoder()
    assert (decoder.dialect, decoder.usage, decoder.finish) == (None, Usage(), None)
    assert decoder.message.turns == ()
    decoder.feed(HELLO[:-40])
    assert decoder.message.text == "hello"
    assert decoder.usage == Usage(input_tokens=2)
    open_end = decoder.is_finished
    decoder.feed(HELLO[-40:])
    assert (open_end, decoder.is_finished) == (False, True)
    assert (decoder.finish, decoder.error) == (END_TURN, None)
    assert (decoder.next_part, decoder.next_item) == (1, 1)


def test_a_broken_stream_says_so_once_and_then_nothing() -> None:
    decoder = Decoder("chat", wire_limits=WireLimits(max_line_bytes=100))
    events = decoder.feed(b"data: " + b"x" * 200)
    assert kinds(events) == ["TurnStarted", "TurnFailed"]
    assert "max_line_bytes=100" in only(events, ev.TurnFailed)[0].message
    assert decoder.error is not None
    assert decoder.feed(HELLO) == []
    assert decoder.close() == []


def test_the_total_is_limited_where_it_is_and_not_where_a_read_ends() -> None:
    small = WireLimits(max_total_bytes=len(HELLO) - 60)
    whole = events_of(HELLO, wire_limits=small)
    assert "max_total_bytes" in only(whole, ev.TurnFailed)[0].message
    assert message_of(whole).text == "hello"
    assert events_of([HELLO[at : at + 1] for at in range(len(HELLO))], wire_limits=small) == whole


@pytest.mark.parametrize("silent", [b": ping\n", b"data: {}\n\n", b'data: {"choices":[]}\n\n'])
@pytest.mark.parametrize("dialect", ["chat", None])
def test_a_stream_that_brings_no_event_is_ended_at_the_same_byte_however_it_is_cut(
    silent: bytes, dialect: str | None
) -> None:
    limits = WireLimits(max_silent_bytes=1_000)
    stream = HELLO[:-40] + silent * 1_000
    whole = events_of(stream, dialect, wire_limits=limits)
    assert "max_silent_bytes=1000" in only(whole, ev.TurnFailed)[0].message
    assert message_of(whole).text == "hello"
    for size in (1, 7, 999, 1_000, 1_001):
        reads = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert events_of(reads, dialect, wire_limits=limits) == whole
        decoder = Decoder(dialect, wire_limits=limits)
        fed = 0
        while not decoder.is_finished:
            decoder.feed(stream[fed : fed + size])
            fed += size
        # One block in which the text came, one without an event, and the rest of a read.
        assert fed <= 2_000 + len(silent) + size


@pytest.mark.parametrize("size", [1, 10, 1_000, 100_000])
def test_a_stream_with_an_event_in_each_block_goes_on(size: int) -> None:
    lines = [b": " + b"x" * 700 + b"\n\n" + sse(chunk({"content": "x"}), done=False)] * 50
    stream = b"".join(lines)
    reads = [stream[at : at + size] for at in range(0, len(stream), size)]
    events = events_of(reads, wire_limits=WireLimits(max_silent_bytes=1_000))
    assert message_of(events).text == "x" * 50
    assert only(events, ev.TurnFailed)[0].category == "incomplete"


def test_a_decoder_need_not_keep_what_it_handed_over() -> None:
    decoder = Decoder(keeps_message=False)
    assert decoder.feed(HELLO)
    with pytest.raises(UsageError, match="keeps_message"):
        _ = decoder.message


def test_the_error_field_is_read_also_where_the_sse_framing_was_lost() -> None:
    events = events_of(b'error: {"error":{"message":"no"}}\n', framing="lines")
    assert only(events, ev.TurnFailed)[0].message == "no"


def test_quirks_do_no_harm_to_a_stream_of_another_dialect() -> None:
    assert only(events_of(MESSAGE, quirks=ChatQuirks(think_tags=())), ev.TurnFinished)


def test_a_turn_can_be_failed_from_outside_once() -> None:
    decoder = Decoder()
    events = decoder.feed(HELLO[:-40])
    events += decoder.fail(ErrorInfo("network", "connection reset", retryable=True))
    assert only(events, ev.TurnFailed)[0].message == "connection reset"
    assert message_of(events).text == "hello"
    assert decoder.fail(ErrorInfo("network", "again")) == []
    assert decoder.close() == []


def test_closing_twice_is_harmless() -> None:
    decoder = Decoder()
    decoder.feed(HELLO)
    assert decoder.close() == []
    assert decoder.close() == []


def test_numbers_go_on_through_a_run() -> None:
    events = events_of(HELLO, first_part=5, first_item=3)
    start = only(events, ev.TextStarted)[0]
    assert (start.part, start.item) == (5, 3)


def test_the_providers_name_is_the_callers_to_give() -> None:
    assert only(events_of(HELLO, provider="acme"), ev.TurnStarted)[0].provider == "acme"


def test_unknown_names_are_usage_errors_that_list_what_there_is() -> None:
    with pytest.raises(UsageError, match="chat, anthropic"):
        Decoder("klingon")
    with pytest.raises(UsageError, match="squeezed-sse"):
        Decoder(framing="morse")


def test_the_sync_skin_stamps_records() -> None:
    times = iter([10.0, 20.0, 30.0])
    records = list(decode([HELLO[:200], HELLO[200:]], clock=lambda: next(times)))
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert {record.at_ms for record in records} <= {10, 20, 30}
    assert [record.event for record in records] == events_of(HELLO)


def test_the_async_skin_gives_the_same() -> None:
    async def reads() -> AsyncIterator[bytes]:
        for at in range(0, len(HELLO), 7):
            yield HELLO[at : at + 7]

    async def collect() -> list[ev.Event | ev.UnknownEvent]:
        return [record.event async for record in decode_async(reads())]

    assert asyncio.run(collect()) == events_of(HELLO)


def test_the_default_clock_is_wall_time() -> None:
    first = next(iter(decode([HELLO])))
    assert first.at_ms > 1_600_000_000_000


def test_the_model_is_the_given_one_where_the_stream_names_none() -> None:
    for payload, expected in (({"model": "m1"}, "m1"), ({}, "given")):
        data = sse({**payload, "choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})
        started = events_of(data, "chat", model="given")[0]
        assert isinstance(started, ev.TurnStarted)
        assert started.model == expected
