"""Bodies of Cohere requests, judged by the types of the published client."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from headrace.content import FileContent, ImageContent, TextContent
from headrace.encoders import OutputSchema, ToolSpec, encode_cohere
from headrace.errors import UsageError
from headrace.messages import Message
from tests.published import accepts
from tests.unit.encoders.answers import assert_every_call_is_answered
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
PLAN = {"type": "tool_plan"}
NOTES = FileContent(media_type="text/plain", name="a.txt", data=b64encode(b"hello").decode())


def body(*messages: Message, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = plain(encode_cohere(request(*messages, **more)))
    accepts("cohere", made)
    assert_every_call_is_answered("cohere", made)
    return made


def reply(*parts: Any, **more: Any) -> Message:
    return said(*parts, **{"dialect": "cohere", **more})


def test_a_question_and_instructions() -> None:
    assert body(asked("hi"), instructions="Be kind.") == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hi"},
        ],
        "stream": True,
    }


def test_a_reply_with_a_plan_a_call_and_its_result() -> None:
    results = (result("c1", TextContent("no"), is_error=True),)
    plan = thought(1, "I look.", provider_data=PLAN)
    made = body(
        asked("hi"),
        reply(thought(0, "Hm."), plan, call(2), results=results),
        tools=(LOOK,),
    )
    assert made["messages"][1:] == [
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm."}],
            "tool_plan": "I look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"a": 1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Error: no"},
    ]


def test_reasoning_of_another_model_stays_away() -> None:
    made = body(
        asked("hi"), reply(thought(0, "Hm."), text(1, "Yes."), provider="other"), asked("?")
    )
    assert made["messages"][1]["content"] == [{"type": "text", "text": "Yes."}]


def test_a_reply_of_reasoning_alone_is_left_out() -> None:
    made = body(asked("hi"), reply(thought(0, "Hm.")), asked("?"))
    assert [message["role"] for message in made["messages"]] == ["user", "user"]


def test_tools_and_the_choice_among_them() -> None:
    strict = ToolSpec(name="s", is_strict=True)
    made = body(tools=(LOOK, strict), tool_choice="required")
    assert (made["tool_choice"], made["strict_tools"]) == ("REQUIRED", True)
    assert made["tools"][0]["function"]["description"] == "Looks."
    assert body(tools=(LOOK,), tool_choice="none")["tool_choice"] == "NONE"
    assert "tool_choice" not in body(tools=(LOOK,), tool_choice="auto")
    with pytest.raises(UsageError, match="cannot be told to call 'look'"):
        body(tools=(LOOK,), tool_choice="look")


def test_text_files_are_documents_unless_there_are_tools() -> None:
    made = body(asked("Sum up.", NOTES))
    assert made["documents"] == [{"id": "document-0", "data": {"text": "hello", "title": "a.txt"}}]
    assert made["messages"][0]["content"] == "Sum up."
    made = body(asked("Sum up.", NOTES), tools=(LOOK,))
    assert "documents" not in made
    assert made["messages"][0]["content"] == "Sum up.\na.txt:\nhello"


def test_other_files_are_refused() -> None:
    with pytest.raises(UsageError, match="Cohere reads text files"):
        body(asked("?", FileContent(media_type="application/pdf", data="AAAA")))


def test_an_image_is_sent_by_its_address() -> None:
    image = ImageContent(media_type="image/png", data="AAAA")
    assert body(asked("?", image))["messages"][0]["content"] == [
        {"type": "text", "text": "?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]


@pytest.mark.parametrize(
    ("effort", "expected"),
    [
        ("none", {"type": "disabled"}),
        ("low", {"type": "enabled", "token_budget": 1_024}),
        ("max", {"type": "enabled"}),
    ],
)
def test_the_effort(effort: Any, expected: Any) -> None:
    assert body(effort=effort)["thinking"] == expected


def test_options_have_cohere_names() -> None:
    made = body(max_tokens=9, top_p=0.5, top_k=3, seed=1, stop=("x",), logprobs=True)
    assert (made["p"], made["k"], made["seed"], made["stop_sequences"]) == (0.5, 3, 1, ["x"])
    assert made["logprobs"] is True


def test_a_schema_is_a_response_format() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    made = body(output=OutputSchema(schema=schema))
    assert made["response_format"] == {"type": "json_object", "json_schema": schema}


def test_what_cohere_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match="Cohere has no option 'user'"):
        body(user="u")
