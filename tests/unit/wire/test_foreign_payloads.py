"""Errors, ends and whole answers that come in a form the dialect does not define."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace import events as ev
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.error import describe_body, find_error
from tests.grammar import check_grammar
from tests.wire import chunk, events_of, message_of, only, sse

STARTS: dict[str, list[dict[str, Any]]] = {
    "chat": [chunk({"content": "half"})],
    "anthropic": [
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "half"},
        },
    ],
    "responses": [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "half"},
    ],
    "gemini": [{"candidates": [{"content": {"parts": [{"text": "half"}]}}]}],
    "ollama": [{"model": "m", "message": {"role": "assistant", "content": "half"}, "done": False}],
    "xai": [{"outputs": [{"index": 0, "delta": {"role": "ROLE_ASSISTANT", "content": "half"}}]}],
    "bedrock": [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "half"}}}],
    "text": [{"completion": "half", "stop_reason": None}],
    "cohere": [
        {"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant"}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "half"}}}},
    ],
    "interactions": [
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "half"}}
    ],
    "bedrock-agent": [{"chunk": {"bytes": "aGFsZg=="}}],
}
# Streams of these say nothing at their end.
ENDLESS = ("bedrock-agent",)


def test_every_dialect_has_a_start_here() -> None:
    assert set(STARTS) == set(DIALECT_NAMES)


ERRORS: dict[str, dict[str, Any]] = {
    "error object": {"error": {"message": "boom", "type": "server_error"}},
    "error text": {"error": "boom"},
    "errors": {"errors": [{"message": "boom", "code": 500}]},
    "errors of texts": {"errors": ["boom"]},
    "success false": {"success": False, "message": "boom"},
    "detail": {"detail": "boom"},
    "detail list": {"detail": [{"loc": ["body", "n"], "msg": "boom", "type": "value_error"}]},
    "object error": {"object": "error", "message": "boom", "type": "BadThing"},
    "code and msg": {"code": 500, "msg": "boom"},
    "error_message": {"choices": None, "error_type": "BadThing", "error_message": "boom"},
    "error_msg": {"error_code": 336003, "error_msg": "boom", "id": "r"},
    "type and message": {"type": "BadRequestError", "message": "boom"},
    "known type": {"type": "overloaded", "message": "boom"},
    "error beside a type": {"type": "chunk", "error": {"message": "boom"}},
    "errors beside a type": {"type": "chunk", "errors": [{"message": "boom"}]},
}
NO_ERRORS: dict[str, dict[str, Any]] = {
    "unknown type": {"type": "some.new.event", "message": "not an error"},
    "status": {"type": "status", "status": "searching", "detail": "Searching the web"},
    "keep-alive": {"type": "ping"},
    "code 0": {"code": 0, "message": "Success"},
    "code 200": {"code": "200", "msg": "OK"},
    "success": {"success": True, "message": "fine"},
    "status ok": {"status": "ok", "message": "fine"},
    "chunk": {"id": "r", "object": "chat.completion.chunk", "choices": [], "message": "queued"},
    "empty error": {"error": {"code": None, "message": None}, "choices": []},
    "error code 0": {"error": {"code": 0, "message": ""}, "choices": []},
    "no errors": {"errors": [], "error": "", "detail": [], "base_resp": {"status_code": 0}},
    "list of empty errors": {"errors": [{"message": ""}]},
}


def stream_of(dialect: str, *more: bytes) -> bytes:
    if dialect == "ollama":
        return b"".join(json.dumps(line).encode() + b"\n" for line in STARTS[dialect]) + b"".join(
            more
        )
    return sse(*STARTS[dialect], *more, done=False)


def events_in(dialect: str, data: bytes) -> list[ev.TurnEvent]:
    events = events_of(data, dialect, framing="ndjson" if dialect == "ollama" else "sse")
    check_grammar(events)
    return events


@pytest.mark.parametrize("shape", ERRORS)
@pytest.mark.parametrize("dialect", STARTS)
def test_an_error_under_any_name_ends_the_turn_with_its_message(dialect: str, shape: str) -> None:
    body = json.dumps(ERRORS[shape]).encode()
    frames = [body + b"\n"] if dialect == "ollama" else [b"data: " + body + b"\n\n", body + b"\n\n"]
    for frame in frames:
        events = events_in(dialect, stream_of(dialect, frame))
        assert message_of(events).text == "half"
        assert "boom" in only(events, ev.TurnFailed)[0].message


@pytest.mark.parametrize("dialect", [name for name in STARTS if name != "ollama"])
def test_an_event_named_error_is_one(dialect: str) -> None:
    for data in (b'{"message": "boom"}', b"boom", b'{"error": {"message": "boom"}}'):
        events = events_in(dialect, stream_of(dialect, b"event: error\ndata: " + data + b"\n\n"))
        assert "boom" in only(events, ev.TurnFailed)[0].message


def test_the_error_body_of_gemini_after_events_is_an_error() -> None:
    body = json.dumps(
        {"error": {"code": 503, "status": "UNAVAILABLE", "message": "boom"}}, indent=2
    )
    [end] = only(events_in("gemini", stream_of("gemini", body.encode())), ev.TurnFailed)
    assert (end.category, end.message, end.retryable) == ("overloaded", "boom", True)


@pytest.mark.parametrize("dialect", [n for n in STARTS if n not in ("chat", "ollama", *ENDLESS)])
def test_done_does_not_make_a_cut_stream_whole(dialect: str) -> None:
    [end] = only(events_in(dialect, stream_of(dialect, b"data: [DONE]\n\n")), ev.TurnFailed)
    assert end.category == "incomplete"


@pytest.mark.parametrize("shape", NO_ERRORS)
@pytest.mark.parametrize("dialect", STARTS)
def test_a_payload_that_only_has_a_message_is_no_error(dialect: str, shape: str) -> None:
    body = json.dumps(NO_ERRORS[shape]).encode()
    frame = body + b"\n" if dialect == "ollama" else b"data: " + body + b"\n\n"
    assert_has_no_end(dialect, events_in(dialect, stream_of(dialect, frame)))


def assert_has_no_end(dialect: str, events: list[ev.TurnEvent]) -> None:
    """What came is half an answer, unless the dialect has no other end."""
    if dialect in ENDLESS:
        assert only(events, ev.TurnFinished)
    else:
        assert only(events, ev.TurnFailed)[0].category == "incomplete"


@pytest.mark.parametrize("name", ["message", "msg", "detail"])
def test_a_chunk_with_usage_is_no_error_because_of_a_message(name: str) -> None:
    report = {"choices": [], "usage": {"prompt_tokens": 3}, name: "thanks"}
    data = sse(chunk({"content": "a"}), chunk(finish="stop"), report)
    assert only(events_in("chat", data), ev.TurnFinished)


@pytest.mark.parametrize("error", [{"code": None, "message": None}, {"code": 0, "message": ""}])
def test_an_empty_error_beside_content_is_none(error: dict[str, Any]) -> None:
    inside = chunk({"content": "b"})
    inside["choices"][0]["error"] = error
    data = sse({**chunk({"content": "a"}), "error": error}, inside, chunk(finish="stop"))
    events = events_in("chat", data)
    assert message_of(events).text == "ab"
    assert only(events, ev.TurnFinished)


@pytest.mark.parametrize("dialect", [name for name in STARTS if name != "chat"])
def test_an_empty_error_beside_content_is_none_in_any_dialect(dialect: str) -> None:
    first, *more = STARTS[dialect][::-1]
    frames = [*more[::-1], {**first, "error": {"code": None, "message": ""}}]
    is_ndjson = dialect == "ollama"
    data = (
        b"".join(json.dumps(line).encode() + b"\n" for line in frames)
        if is_ndjson
        else sse(*frames, done=False)
    )
    events = events_in(dialect, data)
    assert message_of(events).text == "half"
    assert_has_no_end(dialect, events)


# -- the end of a response

ENDS = [
    (
        "response.completed",
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        "max_tokens",
    ),
    ("response.completed", {"status": "cancelled"}, "other"),
    ("response.completed", {"status": "completed"}, "end_turn"),
    ("response.completed", {}, "end_turn"),
    ("response.completed", {"status": "in_progress"}, "end_turn"),
    ("response.done", {"status": "completed"}, "end_turn"),
    ("response.done", {}, "end_turn"),
    ("response.done", {"status": "incomplete"}, "other"),
]


@pytest.mark.parametrize(("kind", "fields", "word"), ENDS)
def test_the_status_of_a_response_says_how_it_ended(
    kind: str, fields: dict[str, Any], word: str
) -> None:
    frame = sse({"type": kind, "response": {"id": "r", **fields}}, done=False)
    [end] = only(events_in("responses", stream_of("responses", frame)), ev.TurnFinished)
    assert end.reason.word == word


@pytest.mark.parametrize("kind", ["response.completed", "response.done", "response.failed"])
def test_a_failed_response_is_an_error_under_any_name(kind: str) -> None:
    failed = {"status": "failed", "error": {"code": "server_error", "message": "boom"}}
    frame = sse({"type": kind, "response": failed}, done=False)
    [end] = only(events_in("responses", stream_of("responses", frame)), ev.TurnFailed)
    assert (end.category, end.message) == ("server", "boom")


# -- answers that come as a whole

WHOLE: dict[str, Any] = {
    "chat": {
        "id": "r", "model": "m",
        "choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    },
    "anthropic": {
        "id": "r", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "S"},
            {"type": "text", "text": "Hi."},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "responses": {
        "id": "r", "object": "response", "status": "completed", "model": "m", "error": None,
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "gemini": {
        "candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
    },
    "ollama": {
        "model": "m", "message": {"role": "assistant", "content": "Hi."}, "done": True,
        "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2,
    },
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("dialect", WHOLE)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_whole_answer_is_read_as_the_answer(
    dialect: str, indent: int | None, is_known: bool
) -> None:
    body = json.dumps(WHOLE[dialect], indent=indent).encode()
    events = events_of(body, dialect if is_known else None)
    check_grammar(events)
    message = message_of(events)
    assert (message.text, message.error) == ("Hi.", None)
    assert message.finish is not None
    assert message.finish.word == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 2)
    assert message.turns[0].dialect == dialect


def test_a_whole_answer_keeps_its_calls_and_seals() -> None:
    call = {"type": "tool_use", "id": "c", "name": "pay", "input": {"amount": 1}}
    answer = {**WHOLE["anthropic"], "stop_reason": "tool_use"}
    answer["content"] = [*answer["content"], call]
    message = message_of(events_of(json.dumps(answer).encode(), "anthropic"))
    assert message.calls[0].args == {"amount": 1}
    assert message.turns[0].parts[0].seals[0].value == "S"


@pytest.mark.parametrize("dialect", ["ollama", None])
def test_a_completion_of_ollama_is_read(dialect: str | None) -> None:
    lines: list[dict[str, Any]] = [
        {"model": "m", "response": "", "thinking": "Hm.", "done": False},
        {"model": "m", "response": "Hello ", "done": False},
        {"model": "m", "response": "you.", "done": False},
        {"model": "m", "response": "", "done": True, "done_reason": "stop", "eval_count": 2},
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    events = events_of(data, dialect, framing="ndjson")
    check_grammar(events)
    message = message_of(events)
    assert (message.reasoning, message.text, message.error) == ("Hm.", "Hello you.", None)
    assert message.turns[0].dialect == "ollama"


def test_a_whole_array_of_gemini_is_read() -> None:
    parts = [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in ("H", "i")]
    body = json.dumps([*parts, WHOLE["gemini"]], indent=1).encode()
    assert message_of(events_of(body, "gemini")).text == "HiHi."


def test_an_empty_chunk_before_the_first_one_loses_nothing() -> None:
    first = {**WHOLE["gemini"], "modelVersion": "g", "responseId": "r"}
    [start] = only(events_of(sse({}, first, done=False), "gemini"), ev.TurnStarted)
    assert (start.model, start.response_id) == ("g", "r")


# -- bodies that are no stream

BODIES: list[tuple[bytes, str | None, str]] = [
    (b"Invalid API key", "auth", "Invalid API key"),
    (b"404 page not found\n", "not_found", "404 page not found"),
    (b"upstream connect error", "unknown", "upstream connect error"),
    (b"<html><title>502 Bad Gateway</title><p>x</html>", "server", "502 Bad Gateway"),
    (b"<!doctype html><html><title>Sign in</title></html>", "protocol", "web page"),
    (b"<p>Too Many Requests</p>", "rate_limit", "Too Many Requests"),
    (b"\x00\x01binary", "protocol", "neither a stream nor a text"),
    (b": ping\n\n", None, ""),
    (b"dat", None, ""),
    (b'{"choices": [', None, ""),
    (b"", None, ""),
]


@pytest.mark.parametrize(("body", "category", "text"), BODIES)
def test_a_body_that_is_no_stream_says_what_is_wrong(
    body: bytes, category: str | None, text: str
) -> None:
    error = describe_body(body)
    assert (error and error.category) == category
    assert text in (error.message if error else "")
    [end] = only(events_of(body, "chat"), ev.TurnFailed)
    assert end.category == (category or "incomplete")


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"Internal Server Error\n\n"],
        [{"response": "Hello", "p": "ab"}, {"response": " there"}],
        [{"token": {"text": "Hello"}, "generated_text": "Hello"}],
        [{"choices": [], "usage": {"prompt_tokens": 3}}],
    ],
)
def test_a_terminator_without_an_answer_is_no_success(frames: list[Any]) -> None:
    events = events_in("chat", sse(*frames, done=True))
    [end] = only(events, ev.TurnFailed)
    assert (end.category, end.retryable) == ("incomplete", True)


def test_a_payload_with_content_is_no_error() -> None:
    for payload in WHOLE.values():
        assert find_error(payload) is None


# -- usage


def anthropic_usage(first: dict[str, Any], last: dict[str, Any]) -> ev.TurnFinished:
    start = {"type": "message_start", "message": {"id": "m", "usage": first}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}
    data = sse(start, delta, {"type": "message_stop"}, done=False)
    end: ev.TurnFinished = only(events_of(data, "anthropic"), ev.TurnFinished)[0]
    return end


def test_a_later_count_replaces_the_whole_input() -> None:
    iterations = [
        {
            "type": "compaction",
            "input_tokens": 100,
            "cache_read_input_tokens": 55_096,
            "output_tokens": 9,
        },
        {"type": "message", "input_tokens": 181, "cache_read_input_tokens": 0, "output_tokens": 7},
    ]
    last = {
        "input_tokens": 181,
        "cache_read_input_tokens": 0,
        "output_tokens": 7,
        "iterations": iterations,
    }
    end = anthropic_usage({"input_tokens": 100, "cache_read_input_tokens": 55_096}, last)
    assert (end.usage.input_tokens, end.usage.cached_input_tokens) == (181, 0)
    assert end.provider_data["iterations"] == iterations
    billed = end.provider_data["billed_usage"]
    assert (billed["input_tokens"], billed["output_tokens"]) == (55_377, 16)


def test_zeros_without_an_input_count_replace_nothing() -> None:
    first = {"input_tokens": 100, "cache_read_input_tokens": 50}
    end = anthropic_usage(
        first, {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 7}
    )
    assert (end.usage.input_tokens, end.usage.cached_input_tokens) == (150, 50)
