"""Histories written by hand: messages from texts, and dicts in the providers' own shapes."""

from __future__ import annotations

import msgspec
import pytest

import headrace
from headrace import Agent, Message, UsageError, history
from headrace.content import FileContent, ImageContent, TextContent
from headrace.encoders import REQUEST_ENCODERS, Request
from headrace.messages import read_messages
from headrace.messages.provider_history import AssistantEntry
from headrace.providers import CATALOG
from headrace.testing import ScriptedTransport
from headrace.turn.model import model_for

MODELS = {
    row.dialect: f"{name}:m"
    for name, row in CATALOG.items()
    if row.dialect in REQUEST_ENCODERS and row.auth != "none"
} | {"chat": "openai-chat:m", "responses": "openai:m", "ollama": "ollama:m"}
CALLS = [
    {"role": "user", "content": "What is 2 + 3?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "5"},
]
BLOCKS = [
    {"role": "user", "content": [{"type": "text", "text": "What is 2 + 3?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2, "b": 3}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "5"},
            {"type": "text", "text": "And now?"},
        ],
    },
]


def body_for(dialect: str, messages: list[Message]) -> str:
    """The request body for these messages in a dialect, as text."""
    model = model_for(MODELS[dialect], base_url="http://127.0.0.1:1", api_key="k")
    request = Request(model="m", messages=tuple(messages))
    return model.call(request).body.decode()


@pytest.mark.parametrize("dialect", sorted(REQUEST_ENCODERS))
def test_the_content_of_an_assistant_message_is_sent(dialect):
    messages = [Message.user("One?"), Message.assistant("EXAMPLE 42"), Message.user("Two?")]
    body = body_for(dialect, messages)
    assert body.index("One?") < body.index("EXAMPLE 42") < body.index("Two?")


def test_a_last_assistant_message_is_the_beginning_of_the_answer():
    body = msgspec.json.decode(body_for("anthropic", [Message.user("q"), Message.assistant("{")]))
    assert body["messages"][-1] == {"role": "assistant", "content": [{"type": "text", "text": "{"}]}


@pytest.mark.parametrize("dicts", [CALLS, BLOCKS], ids=["openai", "anthropic"])
def test_calls_and_results_are_joined(dicts):
    messages = read_messages(dicts)
    (turn,) = messages[1].turns
    assert [(call.name, call.args) for call in turn.calls] == [("add", {"a": 2, "b": 3})]
    assert [(r.call_id, r.content) for r in turn.results] == [("c1", (TextContent("5"),))]
    kinds = [type(entry).__name__ for entry in history(messages)]
    assert kinds[:3] == ["PromptEntry", "AssistantEntry", "ToolResultsEntry"]


@pytest.mark.parametrize("dialect", sorted(REQUEST_ENCODERS))
@pytest.mark.parametrize("dicts", [CALLS, BLOCKS], ids=["openai", "anthropic"])
def test_dicts_are_sent_in_every_dialect(dicts, dialect):
    body = body_for(dialect, read_messages(dicts))
    assert "What is 2 + 3?" in body
    assert "add" in body


def test_the_system_and_the_texts_of_dicts():
    messages = read_messages(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
        ]
    )
    assert [(m.role, m.text) for m in messages] == [
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello."),
    ]
    assert isinstance(history(messages)[-1], AssistantEntry)


def test_images_and_files():
    (message,) = read_messages(
        [
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                    {"type": "image_url", "image_url": {"url": "https://a.example/b.jpg"}},
                    {"type": "image", "source": {"type": "url", "url": "https://a.example/c"}},
                    {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA=="}},
                    {
                        "type": "document",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"},
                    },
                ],
            }
        ]
    )
    assert message.content == (
        ImageContent(media_type="image/png", data="AA=="),
        ImageContent(media_type="image/jpeg", url="https://a.example/b.jpg"),
        ImageContent(media_type="image/*", url="https://a.example/c"),
        FileContent(media_type="application/pdf", data="AA=="),
        FileContent(media_type="application/pdf", data="AA"),
    )


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"role": "robot", "content": "x"},
        {"role": "user", "content": 5},
        {"role": "user", "content": [{"type": "video"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]},
        {"role": "tool", "tool_call_id": "nobody", "content": "5"},
        {"role": "assistant", "tool_calls": [{"id": "c"}]},
        {"role": "assistant", "content": [{"type": "image", "source": {}}]},
    ],
)
def test_what_is_not_a_message_is_refused_with_its_number(entry):
    with pytest.raises(UsageError, match="message 1 is not in the shape"):
        read_messages([{"role": "user", "content": "q"}, entry])


def test_dicts_are_taken_where_messages_are():
    script = ScriptedTransport(["Four.", "Five."])
    dicts = [{"role": "user", "content": "2 + 2?"}]
    assert headrace.complete("vllm:any", dicts, transport=script).text == "Four."
    agent = Agent("vllm:any", transport=script)
    earlier = [*dicts, {"role": "assistant", "content": "Four."}]
    assert agent.complete("And one more?", earlier).text == "Five."
    sent = [m["content"] for m in script.requests[-1]["messages"]]
    assert sent == ["2 + 2?", "Four.", "And one more?"]


def test_malformed_arguments_stay_as_they_were_written():
    function = {"name": "add", "arguments": '{"a": 2,'}
    (message,) = read_messages(
        [{"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}]
    )
    (call,) = message.calls
    assert (call.raw, call.args, call.is_runnable) == ('{"a": 2,', None, False)
