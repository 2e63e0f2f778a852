"""What single events become in the protocols of OpenAI and Anthropic."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.messages.seal_envelope import decode_envelope
from headrace.outcome import END_TURN, TOOL_USE, FinishReason
from headrace.projections.registry import find_protocol
from headrace.usage import Usage
from tests.doors.round_trip import project
from tests.phases.records import records

PLACE: dict[str, Any] = {"output": 0, "item": 0}


def frames(protocol: str, *events: ev.Event, dialect: str = "chat", **options: Any) -> list[Any]:
    """The payloads of a turn with these events."""
    made = [ev.TurnStarted(dialect=dialect, model="m1"), ev.OutputStarted(0), *events]
    shown = project(protocol, records(made), **options)
    encode = find_protocol(protocol).load().encode_frame
    return [f if f == b"[DONE]" else msgspec.json.decode(f) for f in map(encode, shown)]


def deltas(*events: ev.Event, **options: Any) -> list[Any]:
    """The deltas of a chat stream, without the first one."""
    found = frames("openai-chat", *events, **options)[1:-1]
    return [chunk["choices"][0]["delta"] for chunk in found]


def blocks(*events: ev.Event, **options: Any) -> list[Any]:
    """The blocks and deltas of a stream of messages, in short."""
    found = frames("anthropic-messages", *events, **options)
    return [
        frame.get("content_block") or frame.get("delta")
        for frame in found
        if frame["type"] in ("content_block_start", "content_block_delta")
    ]


def finished(reason: FinishReason = END_TURN, **fields: Any) -> list[ev.Event]:
    return [ev.OutputFinished(0, reason), ev.TurnFinished(reason=reason, **fields)]


def thought(*texts: str, signature: str | None = None) -> list[ev.Event]:
    return [
        ev.ReasoningStarted(part=0, item_id="rs_1", **PLACE),
        *(ev.ReasoningDelta(0, text) for text in texts),
        ev.ReasoningFinished(0, signature),
    ]


def test_thinking_blocks_have_the_whole_text_and_the_signature() -> None:
    events = [*thought("a", "b", signature="sig"), *finished()]
    found = deltas(*events, dialect="anthropic", thinking_blocks=True)
    assert found == [
        {"reasoning_content": "a"},
        {"reasoning_content": "b"},
        {
            "thinking_blocks": [
                {"index": 0, "type": "thinking", "thinking": "ab", "signature": "sig"}
            ]
        },
        {},
    ]
    assert deltas(*events, dialect="anthropic") == [*found[:2], {}]


def test_a_late_signature_follows_its_block() -> None:
    events = [*thought("a"), ev.PartSealed(0, "encrypted", "e"), *finished()]
    entries = [
        block
        for delta in deltas(*events, dialect="responses", thinking_blocks=True)
        for block in delta.get("thinking_blocks", ())
    ]
    assert [block["index"] for block in entries] == [0, 0]
    # The SDKs join the texts of entries with the same index.
    envelope = decode_envelope("".join(block["signature"] for block in entries))
    assert envelope is not None
    assert [(seal.kind, seal.value) for seal in envelope.seals] == [("encrypted", "e")]
    assert (envelope.dialect, envelope.item_id) == ("responses", "rs_1")


def test_a_late_signature_is_in_the_same_block_of_a_message() -> None:
    events = [*thought("a"), ev.PartSealed(0, "encrypted", "e"), *finished()]
    start, text, sealed = blocks(*events, dialect="responses")
    assert start == {"type": "thinking", "thinking": "", "signature": ""}
    assert text == {"type": "thinking_delta", "thinking": "a"}
    envelope = decode_envelope(sealed["signature"])
    assert envelope is not None
    assert envelope.seals[0].value == "e"


def test_sources_are_annotations_with_places_in_the_whole_text() -> None:
    cited: dict[str, Any] = {
        "source": "url",
        "ref": "https://x.org",
        "title": "X",
        "start": 0,
        "end": 2,
    }
    events: list[ev.Event] = [
        ev.TextStarted(part=0, **PLACE),
        ev.TextDelta(0, "abc"),
        ev.TextFinished(0),
        ev.TextStarted(part=1, **PLACE),
        ev.TextDelta(1, "de"),
        ev.TextFinished(1),
        ev.CitationAdded(part=1, **cited),
        ev.CitationAdded(part=0, source="file", ref="file_1"),
        *finished(),
    ]
    (annotation,) = deltas(*events)[-1]["annotations"]
    told = annotation["url_citation"]
    assert (told["start_index"], told["end_index"]) == (3, 5)
    citation = blocks(*events)[-1]["citation"]
    assert (citation["url"], citation["type"]) == ("https://x.org", "web_search_result_location")


def test_sources_after_the_text_have_a_block_of_their_own() -> None:
    events: list[ev.Event] = [
        ev.TextStarted(part=0, **PLACE),
        ev.TextDelta(0, "abc"),
        ev.TextFinished(0),
        ev.OutputFinished(0, END_TURN),
        ev.CitationAdded(source="url", ref="https://x.org"),
        ev.TurnFinished(reason=END_TURN),
    ]
    last = blocks(*events)[-1]
    assert last["text"] == ""
    assert [citation["url"] for citation in last["citations"]] == ["https://x.org"]


def call(part: int, call_id: str) -> ev.ToolCallStarted:
    return ev.ToolCallStarted(part=part, call_id=call_id, name="f", **PLACE)


def test_a_part_that_begins_inside_a_call_waits_for_its_end() -> None:
    events: list[ev.Event] = [
        ev.TextStarted(part=0, **PLACE),
        ev.TextDelta(0, "a"),
        call(1, "c1"),
        ev.ToolCallArgsDelta(1, "{"),
        ev.TextDelta(0, "b"),
        ev.ToolCallArgsDelta(1, "}"),
        ev.TextDelta(0, "c"),
        ev.ToolCallFinished(1, call_id="c1", name="f", args={}, raw="{}"),
        ev.TextDelta(0, "d"),
        ev.TextFinished(0),
        *finished(TOOL_USE),
    ]
    found = blocks(*events)
    assert [block["type"] for block in found] == [
        "text",
        "text_delta",
        "tool_use",
        "input_json_delta",
        "input_json_delta",
        "text",
        "text_delta",
        "text_delta",
        "text_delta",
    ]
    assert "".join(block.get("text", "") for block in found) == "abcd"


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic-messages"])
@pytest.mark.parametrize(("whole", "is_error"), [('{"a":1}', False), ('{"b":1}', True)])
def test_arguments_with_a_gap_are_completed_or_fail(
    protocol: str, whole: str, is_error: bool
) -> None:
    events: list[ev.Event] = [
        call(0, "c1"),
        ev.ToolCallArgsDelta(0, '{"a"'),
        ev.PartRestored(0, whole),
        ev.ToolCallFinished(0, call_id="c1", name="f", args={}, raw=whole),
        *finished(TOOL_USE),
    ]
    found = frames(protocol, *events)
    assert any(isinstance(frame, dict) and "error" in frame for frame in found) == is_error
    assert is_error or ":1}" in str(found)


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic-messages"])
def test_text_that_is_missing_is_told(protocol: str) -> None:
    events: list[ev.Event] = [
        ev.TextStarted(part=0, **PLACE),
        ev.TextDelta(0, "a"),
        ev.TextFinished(0),
        *finished(is_complete=False),
    ]
    warnings = [frame for frame in frames(protocol, *events) if "warning" in str(frame)]
    assert len(warnings) == 1


def test_usage_is_sent_before_an_error() -> None:
    failed = ev.TurnFailed(category="overloaded", message="Busy.", usage=Usage(output_tokens=3))
    *_, usage, error, done = frames("openai-chat", ev.OutputFinished(0), failed, include_usage=True)
    assert usage["usage"]["completion_tokens"] == 3
    assert error == {
        "error": {"message": "Busy.", "type": "server_error", "param": None, "code": "overloaded"}
    }
    assert done == b"[DONE]"


def test_cached_input_is_counted_on_its_own_in_messages() -> None:
    usage = Usage(
        input_tokens=10, cached_input_tokens=4, cache_creation_input_tokens=1, output_tokens=2
    )
    *_, last, _ = frames("anthropic-messages", *finished(usage=usage))
    assert last["usage"] == {
        "input_tokens": 5,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 1,
        "output_tokens": 2,
    }


def test_log_probabilities_come_with_the_end() -> None:
    pieces = [{"content": [{"token": "a"}]}, {"content": [{"token": "b"}]}]
    found = frames("openai-chat", *finished(provider_data={"logprobs": {"0": pieces}}))
    assert found[-2]["choices"][0]["logprobs"] == {"content": [{"token": "a"}, {"token": "b"}]}
