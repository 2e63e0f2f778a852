"""What is played is what the providers' own packages take for theirs."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import msgspec
import pydantic
import pytest

from headrace.errors import UsageError
from headrace.rehearsal.script import (
    approval,
    call,
    error,
    finish,
    provider_call,
    redacted,
    say,
    think,
    turn,
    usage,
)
from headrace.wire.framing import create_framing
from headrace.wire.limits import DEFAULT_WIRE_LIMITS
from tests.rehearsal.scripts import REHEARSED, bytes_of

TYPES = {
    "chat": "openai.types.chat:ChatCompletionChunk",
    "anthropic": "anthropic.types:RawMessageStreamEvent",
    "responses": "openai.types.responses:ResponseStreamEvent",
}
# What no package knows: a comment on the wire, and an error instead of an event.
UNTYPED = {"anthropic": ("ping", "error")}
SCRIPTS = [
    turn("Hello there."),
    turn(think("Let me see.", title="Reading"), think("And more."), "Hi", call("add", a=1)),
    turn(call("f", {"x": [1, 2]}), call("g"), is_interleaved=True),
    turn(redacted("blob"), think("x", encrypted=True), say("Hi"), usage(9, 8, cached=3)),
    turn("half", finish("max_tokens")),
]


PROVIDER_SIDE = [
    provider_call("web_search", "tides", "https://example.org"),
    provider_call("code_interpreter", "x = 6\nprint(x)", "6"),
    provider_call("file_search", "tides", "High at noon."),
    approval("delete_file", path="a.txt"),
]


@cache
def judge(dialect: str) -> pydantic.TypeAdapter[Any]:
    module, _, name = TYPES[dialect].partition(":")
    return pydantic.TypeAdapter(getattr(import_module(module), name))


def payloads(data: bytes) -> list[dict[str, Any]]:
    framing = create_framing("sse", DEFAULT_WIRE_LIMITS)
    frames = [frame.data for frame in [*framing.feed(data), *framing.close()]]
    return [msgspec.json.decode(frame) for frame in frames if frame != b"[DONE]"]


@pytest.mark.parametrize("dialect", REHEARSED)
@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_every_event_is_of_the_published_type(script: Any, dialect: str) -> None:
    for payload in payloads(b"".join(bytes_of(script, dialect))):
        if payload.get("type") not in UNTYPED.get(dialect, ()):
            judge(dialect).validate_json(msgspec.json.encode(payload), strict=False)


@pytest.mark.parametrize("line", PROVIDER_SIDE, ids=lambda line: type(line).__name__)
def test_tools_of_the_provider_are_of_the_published_type(line: Any) -> None:
    for payload in payloads(b"".join(bytes_of(turn(line, "Hi"), "responses"))):
        judge("responses").validate_json(msgspec.json.encode(payload), strict=False)


@pytest.mark.parametrize("line", PROVIDER_SIDE[2:], ids=lambda line: type(line).__name__)
@pytest.mark.parametrize("dialect", ["chat", "anthropic"])
def test_other_dialects_say_that_they_have_no_tools_of_the_provider(
    line: Any, dialect: str
) -> None:
    with pytest.raises(UsageError, match=f"played in responses, not in {dialect}"):
        bytes_of(turn(line), dialect)


def test_the_error_event_of_responses_is_of_the_published_type() -> None:
    (*_, last) = payloads(b"".join(bytes_of(turn("Hi", error()), "responses")))
    judge("responses").validate_python(last)


def test_sequence_numbers_have_no_gap() -> None:
    told = payloads(b"".join(bytes_of(SCRIPTS[2], "responses")))
    assert [payload["sequence_number"] for payload in told] == list(range(len(told)))
