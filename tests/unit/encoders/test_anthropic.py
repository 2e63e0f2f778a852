"""Anthropic Messages bodies: blocks exactly where they stood, options by generation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.encoders import OutputSchema, ToolSpec, encode_anthropic
from headrace.errors import UsageError
from headrace.messages import Citation, Message
from tests.unit.encoders.conversation import (
    asked,
    call,
    opaque,
    output,
    plain,
    redacted,
    request,
    result,
    said,
    text,
    thought,
)

SCHEMA = {"type": "object", "properties": {}}
LOOK = ToolSpec(name="look", description="Looks.", parameters=SCHEMA)
OLD, NEW = "claude-sonnet-4-5", "claude-opus-4-6"


def body(*given: Message, **more: Any) -> dict[str, Any]:
    return plain(encode_anthropic(request(*given, **{"model": OLD, **more})))


def replied(*parts: Any, **more: Any) -> list[dict[str, Any]]:
    reply = said(*parts, **{"dialect": "anthropic", "model": "claude-x", **more})
    return body(asked("hi"), reply)["messages"][1]["content"]


# --- options ----------------------------------------------------------------------


def test_every_option_has_its_place() -> None:
    made = body(
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        stop=("x",),
        tool_choice="look",
        parallel_calls=False,
        output=OutputSchema(schema=SCHEMA),
        tools=(LOOK, ToolSpec(name="see", is_strict=True)),
        instructions="Be brief.",
    )
    assert made == {
        "model": OLD,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": True,
        "system": "Be brief.",
        "tools": [
            {"name": "look", "description": "Looks.", "input_schema": SCHEMA},
            {"name": "see", "description": "", "input_schema": SCHEMA, "strict": True},
        ],
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["x"],
        "tool_choice": {"type": "tool", "name": "look", "disable_parallel_tool_use": True},
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("look", {"type": "tool", "name": "look"}),
    ],
)
def test_the_choice_of_a_tool(choice: str, expected: dict[str, Any]) -> None:
    assert body(tool_choice=choice, tools=(LOOK,))["tool_choice"] == expected


def test_calls_one_by_one_are_a_choice_too() -> None:
    made = body(parallel_calls=True, tools=(LOOK,))
    assert made["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": False}


@pytest.mark.parametrize(
    ("effort", "budget"),
    [("minimal", 1_024), ("low", 2_048), ("medium", 8_192), ("high", 16_384), ("max", 23_808)],
)
def test_before_4_6_the_effort_is_a_budget_beside_the_answer(effort: str, budget: int) -> None:
    made = body(effort=effort)
    assert made["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert made["max_tokens"] == budget + 8_192
    assert made["max_tokens"] <= 32_000


def test_a_budget_leaves_room_in_the_given_number() -> None:
    made = body(effort="high", max_tokens=4_000)
    assert (made["thinking"]["budget_tokens"], made["max_tokens"]) == (2_000, 4_000)
    with pytest.raises(UsageError, match="above 1024"):
        body(effort="high", max_tokens=1_024)


@pytest.mark.parametrize(
    ("model", "effort", "word"),
    [
        (NEW, "minimal", "low"),
        (NEW, "medium", "medium"),
        (NEW, "xhigh", "high"),
        (NEW, "max", "max"),
        ("claude-opus-4-7", "xhigh", "xhigh"),
        ("claude-mythos-preview", "high", "high"),
    ],
)
def test_since_4_6_the_model_decides_and_the_effort_is_a_word(
    model: str, effort: str, word: str
) -> None:
    made = body(model=model, effort=effort, output=OutputSchema(schema=SCHEMA))
    assert made["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert made["output_config"]["effort"] == word
    assert made["output_config"]["format"]["schema"] == SCHEMA
    assert made["max_tokens"] == 32_000


def test_no_effort_is_said_only_where_it_is_not_so_already() -> None:
    assert "thinking" not in body(effort="none")
    assert "thinking" not in body(model="claude-opus-4-7", effort="none")
    for model in ("claude-opus-5", "deepseek-chat"):
        assert body(model=model, effort="none")["thinking"] == {"type": "disabled"}


def test_a_model_of_another_family_gets_a_budget() -> None:
    assert body(model="kimi-k2.6", effort="low")["thinking"]["type"] == "enabled"


@pytest.mark.parametrize(
    ("model", "option"),
    [
        (OLD, {"seed": 1}),
        ("claude-opus-4-7", {"temperature": 1.0}),
        ("claude-sonnet-5", {"top_p": 0.5}),
    ],
)
def test_an_option_that_there_is_not_is_an_error(model: str, option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"has no option '{next(iter(option))}'"):
        body(model=model, **option)


# --- what people say --------------------------------------------------------------


def test_images_and_files_are_blocks() -> None:
    given = (
        ImageContent(media_type="image/png", data="AAAA"),
        ImageContent(media_type="image/png", url="https://a/b.png"),
        FileContent(media_type="application/pdf", name="a.pdf", data="BBBB"),
        FileContent(media_type="text/markdown", name="a.md", data="aGVsbG8="),
    )
    content = body(asked(*given, JSONContent([1])))["messages"][0]["content"]
    assert content == [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
        },
        {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"},
            "title": "a.pdf",
        },
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
            "title": "a.md",
        },
        {"type": "text", "text": "[1]"},
    ]


def test_a_file_that_it_cannot_read_is_an_error() -> None:
    with pytest.raises(UsageError, match="application/zip"):
        body(asked(FileContent(media_type="application/zip", data="AAAA")))


def test_what_is_said_above_the_conversation_is_one_field() -> None:
    made = body(asked("Be kind.", role="developer"), asked("hi"), instructions="Be brief.")
    assert made["system"] == "Be brief.\n\nBe kind."
    assert len(made["messages"]) == 1


def test_roles_take_turns() -> None:
    reply = said(call(0), results=(result("c1", TextContent("seen")),), dialect="chat")
    made = body(asked("a"), asked("b", " "), reply, asked("c"))["messages"]
    assert [message["role"] for message in made] == ["user", "assistant", "user"]
    assert [block["type"] for block in made[2]["content"]] == ["tool_result", "text"]
    assert len(made[0]["content"]) == 2


# --- replies ----------------------------------------------------------------------


def test_thinking_goes_back_unmodified_and_where_it_stood() -> None:
    blocks = replied(
        thought(0, "hm\n", signature="S1"),
        text(1, "I look."),
        redacted(2, "DATA"),
        thought(3, "", signature="S2"),
        call(4),
    )
    assert blocks == [
        {"type": "thinking", "thinking": "hm\n", "signature": "S1"},
        {"type": "text", "text": "I look."},
        {"type": "redacted_thinking", "data": "DATA"},
        {"type": "thinking", "thinking": "", "signature": "S2"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
    ]


def test_overlapped_blocks_are_put_together_by_item() -> None:
    blocks = replied(
        thought(0, "a", item=0),
        text(1, "x", item=1),
        thought(2, "b", item=0, signature="S"),
        text(3, "y", item=1),
    )
    assert blocks == [
        {"type": "thinking", "thinking": "ab", "signature": "S"},
        {"type": "text", "text": "xy"},
    ]


def test_unsigned_and_trailing_thinking_stay_here() -> None:
    blocks = replied(thought(0, "hm"), text(1, "Yes."), thought(2, "so", signature="S"))
    assert blocks == [{"type": "text", "text": "Yes."}]
    reply = said(thought(0, "hm", signature="S"), redacted(1, "D"), dialect="anthropic")
    assert len(body(asked("hi"), reply)["messages"]) == 1


@pytest.mark.parametrize(
    "elsewhere", [{"dialect": "chat"}, {"provider": "q"}, {"model": "deepseek-v4"}]
)
def test_seals_and_tools_of_another_stay_here_and_the_rest_goes(elsewhere: dict[str, Any]) -> None:
    blocks = replied(
        thought(0, "hm", signature="S"),
        redacted(1, "DATA"),
        text(2, "I look.", citations=(Citation(raw={"type": "x"}),)),
        call(3, "s1", executor="provider"),
        output(4, "s1", JSONContent({})),
        opaque(5, "odd", "{}"),
        call(6, provider_data={"type": "tool_use", "caller": {"type": "direct"}}),
        **elsewhere,
    )
    assert blocks == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
    ]


def test_arguments_and_opaque_blocks_go_back_byte_for_byte() -> None:
    raw, odd = '{"b" : 1.0, "a":1e400}', '{"type" : "compaction","content":"\\u00e9"}'
    reply = said(
        opaque(0, "compaction", odd), call(1, raw=raw, args={}), dialect="anthropic", model="claude"
    )
    encoded = msgspec.json.encode(encode_anthropic(request(asked("a"), reply, model=OLD)))
    assert odd.encode() in encoded
    assert raw.encode() in encoded


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"raw": ""}, {}),
        ({"raw": "null", "args": {}}, {}),
        ({"raw": "[1]", "args": [1]}, {"value": [1]}),
        ({"raw": "{", "error": "cut"}, {"malformed_arguments": "{"}),
        ({"raw": "ls", "input": "text"}, {"input": "ls"}),
    ],
)
def test_the_input_is_an_object_whatever_was_written(
    fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert replied(call(0, **fields))[0]["input"] == expected


def test_tools_that_the_provider_ran_go_back_with_their_results() -> None:
    found = [{"type": "web_search_result", "url": "https://a", "encrypted_content": "E"}]
    blocks = replied(
        call(0, "s1", executor="provider", provider_data={"type": "server_tool_use"}),
        output(1, "s1", JSONContent(found), provider_data={"type": "web_search_tool_result"}),
        output(
            2, "m1", JSONContent("no"), is_error=True, provider_data={"type": "mcp_tool_result"}
        ),
        text(3, "It is so.", citations=(Citation(raw={"type": "char_location"}),)),
    )
    assert blocks == [
        {"type": "server_tool_use", "id": "s1", "name": "look", "input": {"a": 1}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "content": "no", "is_error": True},
        {"type": "text", "text": "It is so.", "citations": [{"type": "char_location"}]},
    ]


def test_results_are_blocks_of_any_kind() -> None:
    image = ImageContent(media_type="image/png", data="AAAA")
    reply = said(
        call(0),
        call(1, "c2"),
        call(2, "c3"),
        results=(
            result("c1", TextContent("see"), image, JSONContent({"a": 1})),
            result("c2", TextContent("no"), is_error=True),
            result("c3", TextContent("")),
        ),
        dialect="anthropic",
    )
    seen, failed, empty = body(asked("hi"), reply)["messages"][2]["content"]
    assert [block["type"] for block in seen["content"]] == ["text", "image", "text"]
    assert "is_error" not in seen
    assert failed["is_error"] is True
    assert empty == {"type": "tool_result", "tool_use_id": "c3"}


def test_ids_and_names_fit_the_pattern() -> None:
    reply = said(call(0, "functions.look:0"), call(1, "call_1", name=""), dialect="chat")
    made = body(asked("hi"), reply)["messages"]
    uses, results = made[1]["content"], made[2]["content"]
    assert [use["id"] for use in uses] == [answer["tool_use_id"] for answer in results]
    assert all(use["id"].replace("_", "").isalnum() for use in uses)
    assert uses[1]["name"] == "unknown"


def test_a_blank_text_is_left_out() -> None:
    assert replied(text(0, " \n"), call(1))[0]["type"] == "tool_use"


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-1", "claude-opus-4-6"])
@pytest.mark.parametrize(
    "option", [{"temperature": 0.2}, {"top_p": 0.5}, {"tool_choice": "required"}]
)
def test_what_claude_refuses_while_it_thinks_is_refused_by_name(
    model: str, option: dict[str, Any]
) -> None:
    given = {"model": model, "tools": (LOOK,), **option}
    body(effort="none", **given)
    body(**given)
    with pytest.raises(UsageError, match=f"does not think with {next(iter(option))}="):
        body(effort="high", **given)


def test_what_claude_takes_while_it_thinks_is_sent() -> None:
    made = body(
        model="claude-sonnet-4-5",
        tools=(LOOK,),
        effort="high",
        temperature=1.0,
        top_p=0.95,
        tool_choice="auto",
    )
    assert made["temperature"] == 1.0
    assert made["tool_choice"] == {"type": "auto"}
