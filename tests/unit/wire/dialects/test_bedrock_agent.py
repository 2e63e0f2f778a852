"""Streams of Bedrock agents: text, traces, citations, files and calls that the caller runs."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from headrace import events as ev
from headrace.messages import CallPart
from tests.aws import aws_event, aws_events, aws_exception
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, only, single_bytes, sse


def chunk(data: bytes, **fields: Any) -> dict[str, Any]:
    return {"chunk": {"bytes": base64.b64encode(data).decode(), **fields}}


def trace(**steps: Any) -> dict[str, Any]:
    return {"trace": {"sessionId": "s1", "agentId": "a1", "trace": steps}}


def answered(tokens: int) -> dict[str, Any]:
    usage = {"inputTokens": tokens, "outputTokens": 1}
    return trace(orchestrationTrace={"modelInvocationOutput": {"metadata": {"usage": usage}}})


ASKED = trace(orchestrationTrace={"modelInvocationInput": {"foundationModel": "m1"}})


def decode(*events: dict[str, Any], dialect: str | None = None) -> list[ev.TurnEvent]:
    """Decode events as AWS messages, whole and byte by byte, and as wrapped events."""
    data = aws_events(*events)
    decoded = events_of(data, dialect, framing="aws-event-stream")
    check_grammar(decoded)
    assert events_of(single_bytes(data), dialect, framing="aws-event-stream") == decoded
    assert events_of(sse(*events, done=False), dialect) == decoded
    return decoded


def end_of(events: list[ev.TurnEvent]) -> ev.TurnFinished:
    end = events[-1]
    assert isinstance(end, ev.TurnFinished)
    return end


def test_chunks_are_text_and_the_end_of_the_bytes_is_the_end() -> None:
    events = decode(chunk(b"Hello "), chunk("w\u00f6rld".encode()))
    assert message_of(events).text == "Hello w\u00f6rld"
    assert (end_of(events).reason.word, end_of(events).raw_reason) == ("other", None)


def test_a_character_may_be_cut_by_chunks() -> None:
    assert message_of(decode(chunk(b"a\xc3"), chunk(b"\xb6"))).text == "a\u00f6"
    assert message_of(decode(chunk(b"a\xc3"))).text == "a\ufffd"


@pytest.mark.parametrize("text", [b"42", b"[1]", b"no JSON", b"{"])
def test_text_that_looks_like_json_is_text_and_tells_the_dialect(text: bytes) -> None:
    assert message_of(decode(chunk(text))).text == text.decode()


def test_a_json_object_is_text_if_the_dialect_is_known() -> None:
    text = b'{"bytes": "aGk=", "trace": {"trace": {}}}'
    assert message_of(decode(chunk(text), dialect="bedrock-agent")).text == text.decode()


def test_traces_are_kept_and_their_usage_is_added_up() -> None:
    events = decode(ASKED, answered(2), answered(3), chunk(b"a"))
    assert [item.kind for item in only(events, ev.OpaqueItem)] == ["trace"] * 3
    assert events[0].model == "m1"  # type: ignore[union-attr]
    usage = end_of(events).usage
    assert (usage.input_tokens, usage.output_tokens) == (5, 2)


@pytest.mark.parametrize(
    ("location", "source", "ref"),
    [
        ({"type": "S3", "s3Location": {"uri": "s3://b/k"}}, "s3", "s3://b/k"),
        ({"type": "WEB", "webLocation": {"url": "https://a"}}, "web", "https://a"),
        ({"type": "CUSTOM", "customDocumentLocation": {"id": "7"}}, "custom", "7"),
        ({}, None, None),
    ],
)
def test_citations_have_their_place_and_source(
    location: dict[str, Any], source: str | None, ref: str | None
) -> None:
    passage = {"textResponsePart": {"text": "Hello", "span": {"start": 0, "end": 4}}}
    reference = {"content": {"text": "quoted"}, "location": location}
    citation = {"generatedResponsePart": passage, "retrievedReferences": [reference]}
    events = decode(chunk(b"Hello", attribution={"citations": [citation]}))
    (added,) = only(events, ev.CitationAdded)
    assert (added.source, added.ref, added.quote) == (source, ref, "quoted")
    assert (added.start, added.end) == (0, 5)
    assert added.part == only(events, ev.TextStarted)[0].part


def test_pictures_are_media_and_other_files_are_kept() -> None:
    files = [
        {"name": "a.png", "type": "image/png", "bytes": "QUJD"},
        {"name": "b.csv", "type": "text/csv", "bytes": "QUJD"},
    ]
    events = decode(chunk(b"a"), {"files": {"files": files}})
    (media,) = only(events, ev.MediaProduced)
    assert (media.media_type, media.data) == ("image/png", "QUJD")
    (item,) = only(events, ev.OpaqueItem)
    assert item.kind == "file"
    assert "b.csv" in item.data


def test_returned_control_is_calls_with_their_parameters() -> None:
    function = {
        "actionGroup": "g",
        "function": "weather",
        "parameters": [
            {"name": "city", "type": "string", "value": "12"},
            {"name": "days", "type": "integer", "value": "3"},
            {"name": "hot", "type": "boolean", "value": "true"},
            {"name": "odd", "type": "integer", "value": "true"},
            {"name": "many", "type": "array", "value": "[a, b]"},
        ],
    }
    properties = [{"name": "size", "type": "number", "value": "1.5"}]
    operation = {
        "httpMethod": "POST",
        "apiPath": "/items",
        "requestBody": {"content": {"application/json": {"properties": properties}}},
    }
    inputs = [{"functionInvocationInput": function}, {"apiInvocationInput": operation}]
    events = decode({"returnControl": {"invocationId": "c1", "invocationInputs": inputs}})
    first, second = (p for p in message_of(events).turns[0].parts if isinstance(p, CallPart))
    assert (first.call_id, first.name) == ("c1", "weather")
    args = {"city": "12", "days": 3, "hot": True, "odd": "true", "many": "[a, b]"}
    assert first.args == args
    assert first.provider_data == function
    assert (second.call_id, second.name, second.args) == ("c1-1", "POST /items", {"size": 1.5})
    assert end_of(events).reason.word == "tool_use"


def failure(data: bytes) -> ev.TurnFailed:
    end = events_of(data, "bedrock-agent", framing="aws-event-stream")[-1]
    assert isinstance(end, ev.TurnFailed)
    return end


def test_an_exception_fails_the_turn() -> None:
    thrown = aws_exception("throttlingException", b'{"message": "slow down"}')
    end = failure(aws_events(chunk(b"a")) + thrown)
    assert (end.category, end.message) == ("rate_limit", "slow down")
    wrapped = sse(chunk(b"a"), {"throttlingException": {"message": "slow down"}}, done=False)
    last = events_of(wrapped)[-1]
    assert isinstance(last, ev.TurnFailed)
    assert last.category == "rate_limit"


@pytest.mark.parametrize(
    "data",
    [
        aws_events(ASKED),
        aws_events(chunk(b"a"), chunk(b"b"))[:-1],
        aws_events(chunk(b"a")) + aws_event("chunk", {"bytes": "no base64"}),
    ],
    ids=["only a trace", "a message that is cut", "a message that could not be read"],
)
def test_an_answer_that_lacks_something_is_incomplete(data: bytes) -> None:
    assert failure(data).category == "incomplete"
