"""Bodies of the Interactions API, judged by the types of the published client."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.content import Content, FileContent, ImageContent, TextContent
from headrace.encoders import OutputSchema, ToolSpec, encode_interactions
from headrace.errors import UsageError
from headrace.messages import Message
from tests.published import accepts
from tests.unit.encoders.answers import assert_every_call_is_answered, assert_no_reasoning_alone
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

LOOK = ToolSpec(name="look", description="Looks.", parameters={"type": "object", "properties": {}})
IMAGE = ImageContent(media_type="image/png", data="QUJD")


def body(*messages: Message, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = plain(encode_interactions(request(*messages, **more)))
    accepts("interactions", made)
    assert_every_call_is_answered("interactions", made)
    assert_no_reasoning_alone("interactions", made)
    return made


def reply(*parts: Any, **more: Any) -> Message:
    return said(*parts, **{"dialect": "interactions", **more})


def test_a_question_and_instructions() -> None:
    assert body(asked("hi"), instructions="Be kind.") == {
        "model": "m-1",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
        "stream": True,
        "store": False,
        "system_instruction": "Be kind.",
    }


def test_a_reply_is_steps_in_their_order() -> None:
    results = (result("c1", TextContent("no"), is_error=True),)
    signed = thought(0, "Hm.", signature="s1")
    made = body(
        asked("hi"),
        reply(signed, text(1, "I "), text(2, "look."), call(3, signature="s2"), results=results),
        tools=(LOOK,),
    )
    assert made["input"][1:] == [
        {"type": "thought", "signature": "s1", "summary": [{"type": "text", "text": "Hm."}]},
        {
            "type": "model_output",
            "content": [{"type": "text", "text": "I "}, {"type": "text", "text": "look."}],
        },
        {
            "type": "function_call",
            "id": "c1",
            "name": "look",
            "arguments": {"a": 1},
            "signature": "s2",
        },
        {
            "type": "function_result",
            "call_id": "c1",
            "name": "look",
            "result": "no",
            "is_error": True,
        },
    ]


def test_thoughts_without_a_signature_and_those_of_others_are_left_out() -> None:
    unsigned = reply(thought(0, "Hm."), text(1, "a"))
    foreign = reply(thought(0, "Hm.", signature="s"), text(1, "b"), dialect="gemini")
    kinds = [step["type"] for step in body(unsigned, foreign, asked("hi"))["input"]]
    assert kinds == ["model_output", "model_output", "user_input"]


def test_a_signature_without_a_summary_is_sent() -> None:
    made = body(asked("hi"), reply(thought(0, "", signature="s"), text(1, "a")))
    assert made["input"][1] == {"type": "thought", "signature": "s"}


def test_media_are_contents_of_their_kind() -> None:
    media: list[Content] = [
        IMAGE,
        FileContent(media_type="application/pdf", url="https://a.example/b.pdf"),
        FileContent(media_type="audio/wav", data="QUJD"),
    ]
    message = Message(role="user", content=(TextContent("See:"), *media))
    assert body(message)["input"][0]["content"][1:] == [
        {"type": "image", "mime_type": "image/png", "data": "QUJD"},
        {"type": "document", "mime_type": "application/pdf", "uri": "https://a.example/b.pdf"},
        {"type": "audio", "mime_type": "audio/wav", "data": "QUJD"},
    ]


def test_a_result_with_an_image_is_a_list() -> None:
    results = (result("c1", TextContent("see"), IMAGE),)
    made = body(asked("hi"), reply(call(0), results=results), tools=(LOOK,))
    assert [entry["type"] for entry in made["input"][-1]["result"]] == ["text", "image"]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "any"),
        ("look", {"allowed_tools": {"mode": "any", "tools": ["look"]}}),
    ],
)
def test_the_tool_choice(choice: str, sent: Any) -> None:
    made = body(asked("hi"), tools=(LOOK,), tool_choice=choice)
    assert made["generation_config"]["tool_choice"] == sent


def test_options_have_their_places() -> None:
    schema = {"type": "object", "properties": {}}
    made = body(
        asked("hi"), max_tokens=9, effort="xhigh", output=OutputSchema(schema=schema), seed=3
    )
    assert made["generation_config"] == {
        "max_output_tokens": 9,
        "seed": 3,
        "thinking_level": "high",
        "thinking_summaries": "auto",
    }
    assert made["response_format"] == {
        "type": "text",
        "mime_type": "application/json",
        "schema": schema,
    }
    quiet = body(asked("hi"), effort="none")["generation_config"]
    assert quiet == {"thinking_level": "minimal", "thinking_summaries": "none"}


def test_an_option_that_it_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match="Interactions API has no option 'top_k'"):
        body(asked("hi"), top_k=3)
