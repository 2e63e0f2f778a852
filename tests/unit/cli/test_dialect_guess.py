"""The first look: which dialect a file speaks, if one of ours."""

from __future__ import annotations

import pytest

from headrace.cli.sources.dialect_guess import recognize
from headrace.cli.sources.reads import Read
from headrace.errors import InputError
from tests.unit.cli.stream import ANTHROPIC, FAILED, FOREIGN_STREAM, HELLO, chunk, sse

DONE = "[DONE]"
FOREIGN = {"object": "thread.message.delta", "delta": {"text": "hi"}}


def _recognised(data: bytes, framing: str = "sse") -> str | None:
    reads = [Read(at, data[at : at + 7]) for at in range(0, len(data), 7)]
    name, again = recognize(iter(reads), framing)
    assert list(again) == reads
    return name


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        (HELLO, "chat"),
        (ANTHROPIC, "anthropic"),
        (sse({"type": "response.created", "response": {}}), "responses"),
        (sse({"candidates": [{"content": {"parts": [{"text": "hi"}]}}]}), "gemini"),
        (sse({"model": "m", "message": {"content": "hi"}, "done": False}), "ollama"),
        (sse({"messageStart": {"role": "assistant"}}), "bedrock"),
        (sse({"type": "message-start", "delta": {}}), "cohere"),
        (sse({"event_type": "text-generation", "text": "hi"}), "cohere"),
        (sse({"completion": "hi", "stop_reason": None}), "text"),
        (sse({"type": "ping"}, "garbage", chunk(content="a")), "chat"),
        (sse({"sources": []}, chunk(content="a")), "chat"),
        (sse(DONE), "chat"),
        (sse(chunk(content="a")).rstrip(), "chat"),
    ],
)
def test_a_payload_of_one_dialect_decides(data: bytes, dialect: str) -> None:
    assert _recognised(data) == dialect


@pytest.mark.parametrize(
    "data",
    [FAILED, b'error: {"code": 500, "message": "no"}\n\n', b"event: error\ndata: broken\n\n"],
)
def test_a_stream_of_an_error_alone_is_a_stream(data: bytes) -> None:
    assert _recognised(data) is None


def test_a_lonely_error_of_a_known_shape_names_its_dialect() -> None:
    assert _recognised(sse({"type": "error", "error": {"message": "no"}})) == "anthropic"


@pytest.mark.parametrize(
    "data",
    [
        FOREIGN_STREAM,
        sse(FOREIGN, DONE),
        sse(FOREIGN, {"type": "error", "error": {"message": "no"}}),
        sse("garbage"),
        b": only a comment\n\n",
        sse(*[FOREIGN] * 100, chunk(content="too late")),
    ],
)
def test_a_stream_of_nobody_is_a_problem_that_lists_the_dialects(data: bytes) -> None:
    with pytest.raises(InputError, match="--dialect: chat, anthropic, responses"):
        _recognised(data)


def test_a_framing_that_does_not_fit_is_said() -> None:
    with pytest.raises(InputError, match="another --framing"):
        _recognised(HELLO, "json-array")


def test_an_empty_stream_is_said_to_be_empty() -> None:
    with pytest.raises(InputError, match="empty"):
        _recognised(b"")


def test_the_look_ends_with_the_frame_that_decides() -> None:
    reads = iter([Read(0, sse(chunk(content="a"))), Read(1, sse(chunk(content="b")))])
    recognize(reads, "sse")
    assert next(reads).at_ms == 1
