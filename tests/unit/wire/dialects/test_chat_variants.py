"""Chat streams as other servers and gateways write them: nothing of them is lost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.outcome import ErrorCategory
from tests.grammar import check_grammar
from tests.wire import chunk, events_of, message_of, only, sse

SAID = chunk({"role": "assistant", "content": "Hi"})
STOP = chunk({}, finish="stop")
END_1 = chunk({}, index=1, finish="stop")


def decode(*payloads: Any) -> list[ev.TurnEvent]:
    events = events_of(sse(*payloads), "chat")
    check_grammar(events)
    return events


def provider_data(*payloads: Any) -> dict[str, Any]:
    end = decode(*payloads)[-1]
    assert isinstance(end, ev.TurnFinished)
    return end.provider_data


# -- unread fields of deltas


def test_unknown_fields_of_deltas_are_kept() -> None:
    data = provider_data(
        SAID,
        chunk({"content": "!", "web_search_data": {"url": "u"}}),
        chunk({"mood": "glad"}),
        chunk({"mood": "sad"}),
        STOP,
    )
    assert data["choice.0.delta"] == {"web_search_data": [{"url": "u"}], "mood": ["glad", "sad"]}


def test_empty_and_repeated_fields_of_deltas_are_kept_once_or_not() -> None:
    repeated = [chunk({"content": "x", "graph": {"a": 1}, "odd": None, "blank": ""})] * 3
    data = provider_data(SAID, *repeated, STOP)
    assert data["choice.0.delta"] == {"graph": [{"a": 1}]}


def test_each_choice_keeps_its_own_fields() -> None:
    data = provider_data(chunk({"x": 1}), chunk({"x": 2}, index=1), STOP, END_1)
    assert data["choice.0.delta"] == {"x": [1]}
    assert data["choice.1.delta"] == {"x": [2]}


def test_what_is_kept_of_deltas_is_bounded_and_says_so() -> None:
    large = [chunk({"content": "x", "blob": f"{number} " + "y" * 1000}) for number in range(200)]
    data = provider_data(SAID, *large, STOP)
    assert 10 < len(data["choice.0.delta"]["blob"]) < 100
    assert data["unread_fields_left_out"] is True


def test_numbers_of_tokens_are_not_kept() -> None:
    assert "choice.0.delta" not in provider_data(SAID, chunk({"content": "x", "token_id": 7}), STOP)


# -- other types


@pytest.mark.parametrize(
    "content",
    [
        {"type": "text", "text": "Hi"},
        {"text": "Hi"},
        [{"text": "Hi"}],
        {"type": "output_text", "text": {"value": "Hi"}},
    ],
)
def test_content_may_be_an_object(content: Any) -> None:
    assert message_of(decode(chunk({"content": content}), STOP)).text == "Hi"


def test_content_that_is_not_understood_is_an_opaque_item() -> None:
    [item] = only(decode(chunk({"content": {"parts": [1]}}), STOP), ev.OpaqueItem)
    assert (item.kind, item.data) == ("content", '{"parts":[1]}')


def test_reasoning_details_may_be_an_object() -> None:
    detail = {"type": "reasoning.text", "text": "Hm.", "signature": "s"}
    message = message_of(decode(chunk({"reasoning_details": detail}), SAID, STOP))
    assert message.reasoning == "Hm."


def block(thinking: str, **more: str) -> dict[str, Any]:
    return {"thinking_blocks": [{"type": "thinking", "thinking": thinking, **more}]}


def test_reasoning_may_be_in_thinking_blocks_alone() -> None:
    events = decode(
        chunk(block("Let me ")), chunk(block("see.")), chunk(block("", signature="s")), SAID, STOP
    )
    assert message_of(events).reasoning == "Let me see."
    assert [seal.value for seal in only(events, ev.PartSealed)] == ["s"]


def test_thinking_blocks_beside_reasoning_are_a_copy() -> None:
    events = decode(
        chunk({"reasoning_content": "Let me ", **block("Let me ")}),
        chunk({"reasoning_content": "see."}),
        chunk(block("Let me see.", signature="s")),
        SAID,
        STOP,
    )
    assert message_of(events).reasoning == "Let me see."


# -- names in pieces


def entry(name: str | None, arguments: str = "", **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "function": function, **more}]})


CALLED = chunk({}, finish="tool_calls")


def test_a_name_in_pieces_is_one_call() -> None:
    events = decode(entry("get_"), entry("weather"), entry(None, '{"a": 1}'), CALLED)
    [finished] = only(events, ev.ToolCallFinished)
    assert (finished.name, finished.args) == ("get_weather", {"a": 1})


def test_a_call_that_has_started_under_half_a_name_is_never_run() -> None:
    """With an id a call starts at once, so that a reader can show it."""
    events = decode(entry("get_", id="c"), entry("weather"), entry(None, "{}"), CALLED)
    assert not only(events, ev.ToolCallFinished)
    [malformed] = only(events, ev.ToolCallMalformed)
    assert "'get_' and 'weather'" in malformed.error


def test_two_calls_at_one_place_are_two_calls() -> None:
    events = decode(entry("a", "{}"), entry("b", "{}"), CALLED)
    assert [call.name for call in only(events, ev.ToolCallFinished)] == ["a", "b"]
    events = decode(entry("a", id="1"), entry("b", id="2"), CALLED)
    assert [call.name for call in only(events, ev.ToolCallFinished)] == ["a", "b"]


# -- bytes that are nearly JSON


def test_lines_of_json_instead_of_events_are_read() -> None:
    lines = b"".join(
        msgspec.json.encode(part) + b"\n" for part in (SAID, chunk({"content": "!"}), STOP)
    )
    events = events_of(lines, "chat")
    check_grammar(events)
    end = events[-1]
    assert message_of(events).text == "Hi!"
    assert isinstance(end, ev.TurnFinished)
    assert end.is_complete


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_chunk_with_a_number_that_json_does_not_have_is_read(constant: bytes) -> None:
    said = (
        b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}, "logprobs": '
        b'{"content": [{"logprob": ' + constant + b'}]}, "finish_reason": "stop"}]}\n\n'
    )
    events = decode(said)
    assert message_of(events).text == "Hi"
    assert events[-1].skipped_frames == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("constant", ["NaN", "[Infinity]"])
def test_arguments_with_a_number_that_json_does_not_have_are_malformed(constant: str) -> None:
    entry = {"index": 0, "id": "c", "function": {"name": "f", "arguments": f'{{"a": {constant}}}'}}
    events = decode(chunk({"tool_calls": [entry]}), chunk({}, finish="tool_calls"))
    assert only(events, ev.ToolCallMalformed)
    assert not only(events, ev.ToolCallFinished)


def test_a_ping_leaves_nothing_behind() -> None:
    plain = provider_data(SAID, STOP)
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    assert provider_data(ping, SAID, ping, STOP) == plain


# -- errors


@pytest.mark.parametrize(
    ("message", "category"),
    [
        (
            "litellm.ContextWindowExceededError: ContextWindowExceededError: OpenAIException - "
            "too many tokens",
            "context_overflow",
        ),
        ("litellm.BadRequestError: no", "invalid_request"),
    ],
)
def test_the_errors_of_litellm_have_their_category(message: str, category: ErrorCategory) -> None:
    error = {"message": message, "type": None, "param": None, "code": "400"}
    end = decode(SAID, {"error": error})[-1]
    assert isinstance(end, ev.TurnFailed)
    assert end.category == category
