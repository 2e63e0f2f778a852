"""Ollama bodies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace.content import FileContent, ImageContent, TextContent
from headrace.encoders import OutputSchema, ToolSpec, encode_ollama
from headrace.errors import UsageError
from headrace.messages import Message
from tests.unit.encoders.conversation import (
    asked,
    call,
    plain,
    request,
    result,
    said,
    text,
    thought,
)

SCHEMA = {"type": "object", "properties": {}}
LOOK = ToolSpec(name="look", description="Looks.", parameters=SCHEMA)
PNG = ImageContent(media_type="image/png", data="AAAA")


def body(*given: Message, **more: Any) -> dict[str, Any]:
    return plain(encode_ollama(request(*given, **more)))


def test_every_option_has_its_place() -> None:
    made = body(
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        stop=("x",),
        seed=7,
        effort="high",
        tool_choice="auto",
        output=OutputSchema(schema=SCHEMA),
        tools=(LOOK,),
        instructions="Be brief.",
    )
    function = {"name": "look", "description": "Looks.", "parameters": SCHEMA}
    assert made == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
        ],
        "stream": True,
        "tools": [{"type": "function", "function": function}],
        "think": "high",
        "format": SCHEMA,
        "options": {"num_predict": 5, "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["x"]},
    }


@pytest.mark.parametrize(
    ("effort", "think"),
    [("none", False), ("minimal", "low"), ("medium", "medium"), ("xhigh", "high"), ("max", "high")],
)
def test_the_effort_is_a_word_or_a_no(effort: str, think: Any) -> None:
    assert body(effort=effort)["think"] == think


@pytest.mark.parametrize("option", [{"parallel_calls": True}, {"tool_choice": "required"}])
def test_an_option_that_there_is_not_is_an_error(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(option))):
        body(tools=(LOOK,), **option)


def test_no_tool_to_choose_is_no_tool() -> None:
    assert "tools" not in body(tools=(LOOK,), tool_choice="none")


def test_images_stand_beside_the_text() -> None:
    notes = FileContent(media_type="text/plain", data="aGVsbG8=")
    (message,) = body(asked("see", PNG, notes))["messages"]
    assert message == {"role": "user", "content": "see\nhello", "images": ["AAAA"]}


@pytest.mark.parametrize(
    "content",
    [
        ImageContent(media_type="image/png", url="https://a/b.png"),
        FileContent(media_type="application/pdf", data="AAAA"),
    ],
)
def test_what_it_cannot_take_is_an_error(content: Any) -> None:
    with pytest.raises(UsageError, match="Ollama takes text and images"):
        body(asked(content))


def test_thinking_and_calls_go_back_and_results_follow_by_name() -> None:
    results = (result("c1", TextContent("seen"), PNG),)
    reply = said(thought(0, "hm"), text(1, "I look."), call(2), results=results, dialect="ollama")
    _, assistant, tool = body(asked("hi"), reply)["messages"]
    assert assistant == {
        "role": "assistant",
        "content": "I look.",
        "thinking": "hm",
        "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}],
    }
    assert tool == {
        "role": "tool",
        "tool_name": "look",
        "content": "seen\n[an image (image/png), shown separately]",
        "images": ["AAAA"],
    }


@pytest.mark.parametrize("elsewhere", [{"dialect": "chat"}, {"provider": "q"}, {"model": "n"}])
def test_thinking_of_another_stays_here(elsewhere: dict[str, Any]) -> None:
    reply = said(thought(0, "hm"), text(1, "Yes."), **{"dialect": "ollama", **elsewhere})
    assert body(asked("hi"), reply)["messages"][1] == {"role": "assistant", "content": "Yes."}


def test_a_reply_of_thinking_alone_and_an_empty_question_are_left_out() -> None:
    made = body(asked("hi"), said(thought(0, "hm"), dialect="ollama"), asked(""))
    assert [message["role"] for message in made["messages"]] == ["user"]


def test_arguments_go_back_byte_for_byte() -> None:
    raw = '{"b" : 1.0, "a":1e400}'
    reply = said(call(0, raw=raw, args={}), dialect="ollama")
    assert raw.encode() in msgspec.json.encode(encode_ollama(request(asked("a"), reply)))
