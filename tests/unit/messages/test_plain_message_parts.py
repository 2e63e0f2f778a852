"""Each part of a message in a provider's own shape, and each field of it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.content import ImageContent, JSONContent, TextContent
from headrace.errors import UsageError
from headrace.messages import (
    CallPart,
    MediaPart,
    Message,
    Part,
    ReasoningPart,
    RedactedPart,
    Seal,
    TextPart,
    history,
    read_messages,
)
from headrace.messages.provider_history import AssistantEntry
from headrace.outcome import END_TURN, TOOL_USE


def place(number: int) -> dict[str, Any]:
    return {"part": number, "output": 0, "item": number, "started_ms": 0, "ended_ms": 0}


def parts(*blocks: Any, **more: Any) -> tuple[Part, ...]:
    content = list(blocks) if blocks else None
    [message] = read_messages([{"role": "assistant", "content": content, **more}])
    (turn,) = message.turns
    return turn.parts


@pytest.mark.parametrize("kind", ["text", "output_text", "input_text"])
def test_text_in_every_spelling(kind: str) -> None:
    assert parts({"type": kind, "text": "Hi"}) == (TextPart(text="Hi", **place(0)),)


def test_every_kind_of_part_is_read_whole_and_counted() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "thinking", "thinking": "Or not."},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "refusal", "refusal": "No."},
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
    ]
    assert parts(*blocks) == (
        ReasoningPart(text="Hm.", seals=(Seal("signature", "s"),), **place(0)),
        ReasoningPart(text="Or not.", **place(1)),
        RedactedPart(data="xyz", **place(2)),
        TextPart(text="No.", is_refusal=True, **place(3)),
        CallPart(call_id="c1", name="add", raw='{"a":1}', args={"a": 1}, **place(4)),
    )


def test_reasoning_text_and_calls_of_one_chat_message() -> None:
    call = {"id": "c1", "function": {"name": "now", "arguments": ""}}
    assert parts("Let me look.", reasoning_content="Hm.", tool_calls=[call]) == (
        ReasoningPart(text="Hm.", **place(0)),
        TextPart(text="Let me look.", **place(1)),
        CallPart(call_id="c1", name="now", raw="", args={}, **place(2)),
    )


def test_the_finish_tells_whether_there_are_calls() -> None:
    call = {"id": "c1", "function": {"name": "now", "arguments": "{}"}}
    called, said = read_messages(
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "assistant", "content": "Hi"},
        ]
    )
    assert (called.finish, said.finish) == (TOOL_USE, END_TURN)


def test_messages_and_dicts_may_be_mixed() -> None:
    first = Message.user("Hi")
    assert read_messages([first, {"role": "user", "content": "You?"}]) == [
        first,
        Message(role="user", content=(TextContent("You?"),)),
    ]


@pytest.mark.parametrize("content", [5, {"type": "text"}])
def test_content_that_is_neither_a_text_nor_a_list_is_refused(content: Any) -> None:
    with pytest.raises(UsageError, match=r"message 0 .*must be a text or a list"):
        read_messages([{"role": "user", "content": content}])


def test_the_content_of_an_assistant_message_becomes_parts() -> None:
    message = Message(role="assistant", content=(TextContent("Hi"), JSONContent({"a": 1})))
    [entry] = history([message])
    assert isinstance(entry, AssistantEntry)
    assert entry.parts == (
        TextPart(text="Hi", **place(0)),
        TextPart(text='{"a":1}', **place(1)),
    )


def test_an_image_of_an_assistant_message_is_a_medium() -> None:
    image = ImageContent(media_type="image/png", data="AAAA")
    [entry] = history([Message(role="assistant", content=(TextContent("Look:"), image))])
    assert isinstance(entry, AssistantEntry)
    assert entry.parts[1] == MediaPart(media_type="image/png", data="AAAA", **place(1))


def test_images_in_every_spelling() -> None:
    url = "https://example.com/a.png"
    blocks = [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "image_url", "image_url": url},
        {"type": "input_image", "image_url": url},
        {"type": "image", "source": {"type": "url", "url": url}},
    ]
    [message] = read_messages([{"role": "user", "content": blocks}])
    assert [entry.url for entry in message.content if isinstance(entry, ImageContent)] == [url] * 4


def test_empty_content_is_no_part_and_results_alone_are_no_message() -> None:
    assert read_messages([{"role": "assistant", "content": ""}])[0].turns[0].parts == ()
    assert read_messages([{"role": "user", "content": ""}]) == [Message(role="user")]
    call = {"type": "tool_use", "id": "c1", "name": "add", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "5"}
    messages = read_messages(
        [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": "Wait."},
            {"role": "user", "content": [result]},
        ]
    )
    assert [message.role for message in messages] == ["assistant", "user"]
    assert [answer.call_id for answer in messages[0].turns[0].results] == ["c1"]


def test_messages_are_made_of_texts() -> None:
    for role, message in (
        ("system", Message.system("Be brief.")),
        ("user", Message.user("Be brief.")),
        ("assistant", Message.assistant("Be brief.")),
    ):
        assert message.role == role
        assert message.text == "Be brief."
