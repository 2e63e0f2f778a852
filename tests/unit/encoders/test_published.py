"""The judge of our bodies is one: it refuses what the published types do not take."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.encoders import ENDPOINT_ENCODERS, REQUEST_ENCODERS
from tests.published import Refused, accepts

RIGHT: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True},
    "anthropic": {
        "model": "m",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": True,
    },
    "responses": {
        "model": "m",
        "input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
        "stream": True,
    },
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    "ollama": {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True},
    "xai": {"model": "m", "messages": [{"role": "ROLE_USER", "content": [{"text": "hi"}]}]},
    "cohere": {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True},
    "bedrock": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
    "interactions": {
        "model": "m",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
        "stream": True,
    },
    "ollama-generate": {"model": "m", "prompt": "hi", "stream": True},
}
MESSAGES = {"responses": "input", "gemini": "contents", "interactions": "input"}


def test_every_request_encoder_has_a_judge_here() -> None:
    assert set(RIGHT) == {*REQUEST_ENCODERS, *ENDPOINT_ENCODERS}


@pytest.mark.parametrize("dialect", RIGHT)
def test_the_judge_takes_what_is_right(dialect: str) -> None:
    accepts(dialect, RIGHT[dialect])


@pytest.mark.parametrize("dialect", RIGHT)
def test_the_judge_refuses_a_misspelled_key(dialect: str) -> None:
    with pytest.raises(Refused, match="streem"):
        accepts(dialect, RIGHT[dialect] | {"streem": True})


@pytest.mark.parametrize("dialect", REQUEST_ENCODERS)
def test_the_judge_looks_into_every_message(dialect: str) -> None:
    name = MESSAGES.get(dialect, "messages")
    wrong = RIGHT[dialect][name][0] | {"odd": 1}
    with pytest.raises(Refused, match=rf"{name}\[1\]\.odd"):
        accepts(dialect, RIGHT[dialect] | {name: [RIGHT[dialect][name][0], wrong]})


@pytest.mark.parametrize(
    ("dialect", "wrong"),
    [
        ("chat", {"temperature": "hot"}),
        ("anthropic", {"max_tokens": "1"}),
        ("responses", {"input": [{"type": "message", "role": "user", "content": 5}]}),
        ("gemini", {"contents": [{"role": "user", "parts": [{"text": 5}]}]}),
        ("ollama", {"options": {"seed": "one"}}),
        ("xai", {"messages": [{"role": "ROLE_NOBODY"}]}),
        ("cohere", {"k": "one"}),
        ("bedrock", {"inferenceConfig": {"maxTokens": "1"}}),
        ("interactions", {"generation_config": {"seed": "one"}}),
        ("ollama-generate", {"prompt": 5}),
    ],
)
def test_the_judge_refuses_a_wrong_type(dialect: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=rf"body\.{next(iter(wrong))}.*: is no"):
        accepts(dialect, RIGHT[dialect] | wrong)


@pytest.mark.parametrize(
    ("dialect", "missing"),
    [
        ("chat", "messages"),
        ("anthropic", "max_tokens"),
        ("gemini", "contents"),
        ("ollama", "model"),
        ("cohere", "messages"),
        ("xai", "messages"),
        ("interactions", "input"),
        ("ollama-generate", "model"),
    ],
)
def test_the_judge_refuses_what_lacks_something(dialect: str, missing: str) -> None:
    body = {name: value for name, value in RIGHT[dialect].items() if name != missing}
    with pytest.raises(Refused, match=missing):
        accepts(dialect, body)


def test_the_judge_refuses_an_item_that_lacks_something() -> None:
    item = {"type": "function_call", "name": "f", "arguments": "{}"}
    with pytest.raises(Refused, match=r"input\[0\]\.call_id: is missing"):
        accepts("responses", RIGHT["responses"] | {"input": [item]})
