"""Chat Completions bodies: options by the provider's rules, and replies as it wants them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.encoders import ChatRequestQuirks, OutputSchema, ToolSpec, encode_chat
from headrace.errors import UsageError
from headrace.messages import Message
from tests.unit.encoders.conversation import (
    asked,
    call,
    media,
    output,
    plain,
    redacted,
    request,
    result,
    said,
    text,
    thought,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
LOOK = ToolSpec(name="look", description="Looks.", parameters=SCHEMA)
PNG = ImageContent(media_type="image/png", data="AAAA")


def messages(*given: Message, rules: ChatRequestQuirks | None = None, **more: Any) -> list[Any]:
    body = encode_chat(request(*given, **more), rules or ChatRequestQuirks())
    return plain(body)["messages"]


def replied(*parts: Any, rules: ChatRequestQuirks | None = None, **more: Any) -> dict[str, Any]:
    return messages(asked("hi"), said(*parts, **more), rules=rules)[1]


# --- options ----------------------------------------------------------------------


def test_every_option_has_its_place() -> None:
    body = encode_chat(
        request(
            max_tokens=5,
            temperature=0.5,
            top_p=0.9,
            stop=("x",),
            seed=7,
            effort="high",
            tool_choice="look",
            parallel_calls=False,
            output=OutputSchema(schema=SCHEMA),
            tools=(LOOK,),
            instructions="Be brief.",
        ),
        ChatRequestQuirks(effort="reasoning_effort", max_tokens_field="max_completion_tokens"),
    )
    assert body == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA},
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "parallel_tool_calls": False,
        "max_completion_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["x"],
        "seed": 7,
        "reasoning_effort": "high",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
    }


@pytest.mark.parametrize(
    ("knob", "effort", "expected"),
    [
        ("reasoning_effort", "none", {"reasoning_effort": "none"}),
        ("reasoning_effort", "max", {"reasoning_effort": "max"}),
        ("reasoning", "low", {"reasoning": {"effort": "low"}}),
        ("thinking", "low", {"thinking": {"type": "enabled"}}),
        ("thinking", "none", {"thinking": {"type": "disabled"}}),
        ("thinking_effort", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ("thinking_effort", "none", {"thinking": {"type": "disabled"}}),
        ("enable_thinking", "high", {"enable_thinking": True}),
        ("chat_template_kwargs", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_the_effort_turns_the_providers_own_knob(
    knob: Any, effort: Any, expected: dict[str, Any]
) -> None:
    body = encode_chat(request(effort=effort), ChatRequestQuirks(effort=knob))
    assert expected.items() <= body.items()


@pytest.mark.parametrize(
    ("effort", "word"),
    [("minimal", "low"), ("low", "low"), ("medium", "low"), ("high", "high"), ("max", "high")],
)
def test_an_effort_that_the_provider_lacks_is_the_next_lower(effort: Any, word: str) -> None:
    rules = ChatRequestQuirks(effort="reasoning_effort", efforts=("low", "high"))
    assert encode_chat(request(effort=effort), rules)["reasoning_effort"] == word


@pytest.mark.parametrize(
    ("rules", "option"),
    [
        (ChatRequestQuirks(), {"effort": "low"}),
        (ChatRequestQuirks(effort="reasoning_effort", efforts=("low",)), {"effort": "none"}),
        (ChatRequestQuirks(lacks=("seed",)), {"seed": 1}),
        (ChatRequestQuirks(lacks=("output",)), {"output": OutputSchema(schema=SCHEMA)}),
    ],
)
def test_an_option_that_the_provider_lacks_is_an_error(
    rules: ChatRequestQuirks, option: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="leave"):
        encode_chat(request(**option), rules)


def test_usage_is_asked_for_only_where_it_is_understood() -> None:
    assert "stream_options" not in encode_chat(request(), ChatRequestQuirks(asks_for_usage=False))


def test_a_strict_tool_says_so() -> None:
    body = encode_chat(request(tools=(ToolSpec(name="look", is_strict=True),)))
    assert body["tools"][0]["function"]["strict"] is True


# --- what people say --------------------------------------------------------------


def test_images_files_and_sounds_are_parts() -> None:
    pdf = FileContent(media_type="application/pdf", name="a.pdf", data="BBBB")
    sound = FileContent(media_type="audio/mpeg", data="CCCC")
    linked = ImageContent(media_type="image/png", url="https://a/b.png")
    (message,) = messages(asked("see", PNG, linked, pdf, sound))
    assert message["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"},
        },
        {"type": "input_audio", "input_audio": {"data": "CCCC", "format": "mp3"}},
    ]


def test_text_files_and_json_are_text() -> None:
    notes = FileContent(media_type="text/plain", name="notes.txt", data="aGVsbG8=")
    (message,) = messages(asked("see", notes, JSONContent({"a": 1})))
    assert message == {"role": "user", "content": 'see\nnotes.txt:\nhello\n{"a":1}'}


def test_a_developers_message_is_the_systems() -> None:
    assert messages(asked("be kind", role="developer"), asked("hi"))[0]["role"] == "system"


def test_an_empty_message_is_none() -> None:
    assert messages(asked(" "), asked("hi")) == [{"role": "user", "content": "hi"}]


# --- replies ----------------------------------------------------------------------


def test_arguments_go_back_as_written_and_results_follow() -> None:
    raw = '{ "a":1.0,\n"b":"\\u00e9" }'
    history = said(
        text(0, "I look."),
        call(1, raw=raw),
        call(2, "c2", raw=""),
        results=(result("c1", TextContent("seen")),),
    )
    assistant, first, second = messages(asked("hi"), history)[1:]
    assert assistant == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": raw}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
        ],
    }
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "seen"}
    assert second["tool_call_id"] == "c2"
    assert "not run" in second["content"]


def test_images_of_tools_are_shown_by_the_user_after_all_results() -> None:
    history = said(
        call(0), call(1, "c2"), results=(result("c1", TextContent("a"), PNG), result("c2"))
    )
    *_, first, second, shown = messages(asked("hi"), history)
    assert first["content"] == "a\n[an image (image/png), shown separately]"
    assert second["content"] == "(no output)"
    assert shown["role"] == "user"
    assert shown["content"][0]["type"] == "image_url"


def test_a_malformed_call_goes_back_as_json_and_is_answered() -> None:
    history = said(call(0, raw='{"a": ', error="it ends too soon"))
    _, assistant, answer = messages(asked("hi"), history)
    arguments = assistant["tool_calls"][0]["function"]["arguments"]
    assert msgspec.json.decode(arguments) == {"malformed_arguments": '{"a": '}
    assert "malformed" in answer["content"]


def test_a_custom_call_stays_one_at_home_only() -> None:
    custom = call(0, raw="print(1)", input="text")
    assert replied(custom)["tool_calls"][0]["custom"] == {"name": "look", "input": "print(1)"}
    away = replied(custom, dialect="responses")["tool_calls"][0]
    assert away["function"]["arguments"] == '{"input":"print(1)"}'


def test_a_refusal_stays_one_at_home_only() -> None:
    refused = text(0, "No.", is_refusal=True)
    assert replied(refused) == {"role": "assistant", "content": None, "refusal": "No."}
    assert replied(refused, provider="q") == {"role": "assistant", "content": "No."}


def test_a_reply_without_text_or_call_is_left_out() -> None:
    parts = (thought(0, "hm"), media(1, "image/png", "AAAA"), output(2, "x", TextContent("y")))
    assert len(messages(asked("hi"), said(*parts))) == 1


def test_facts_beside_a_call_go_back_only_where_they_are_from() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "S"}}}
    signed = call(0, provider_data=extra)
    assert replied(signed)["tool_calls"][0]["extra_content"] == extra["extra_content"]
    for reply in (
        replied(signed, dialect="anthropic"),
        replied(signed, provider="q"),
        replied(signed, model="n-1"),
    ):
        assert "extra_content" not in reply["tool_calls"][0]


# --- ids --------------------------------------------------------------------------


def test_ids_from_elsewhere_fit_and_ours_stay() -> None:
    odd = call(0, "functions.look:0")
    history = messages(asked("hi"), said(odd))
    assert history[1]["tool_calls"][0]["id"] == history[2]["tool_call_id"] == "functions.look:0"
    history = messages(asked("hi"), said(odd, dialect="ollama"))
    fitted = history[1]["tool_calls"][0]["id"]
    assert fitted.isalnum()
    assert history[2]["tool_call_id"] == fitted


def test_an_id_that_comes_again_in_a_conversation_is_another() -> None:
    turns = [said(call(0, "call_0"), dialect="gemini") for _ in range(2)]
    ids = [m["tool_call_id"] for m in messages(asked("a"), *turns) if m["role"] == "tool"]
    assert len(set(ids)) == 2


def test_mistral_has_a_pattern_of_its_own() -> None:
    rules = ChatRequestQuirks(call_id_pattern="[A-Za-z0-9]{9}")
    tool_call = replied(call(0, "toolu_01ABC"), rules=rules, dialect="anthropic")["tool_calls"][0]
    assert len(tool_call["id"]) == 9
    kept = replied(call(0, "abcDEF123"), rules=rules, dialect="anthropic")["tool_calls"][0]
    assert kept["id"] == "abcDEF123"


# --- reasoning --------------------------------------------------------------------


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_plain_reasoning_goes_back_in_the_providers_field(field: Any) -> None:
    rules = ChatRequestQuirks(replays=field)
    message = replied(thought(0, "hm, "), thought(1, "yes"), text(2, "Yes."), rules=rules)
    assert message == {"role": "assistant", "content": "Yes.", field: "hm, yes"}
    assert replied(thought(0, "hm"), text(1, "Yes."), rules=ChatRequestQuirks()).keys() == {
        "role",
        "content",
    }


@pytest.mark.parametrize("elsewhere", [{"dialect": "gemini"}, {"provider": "q"}, {"model": "n"}])
def test_reasoning_of_another_is_left_out_and_the_rest_stays(elsewhere: dict[str, Any]) -> None:
    rules = ChatRequestQuirks(replays="reasoning_content")
    message = replied(thought(0, "hm"), text(1, "Yes."), call(2), rules=rules, **elsewhere)
    assert message["content"] == "Yes."
    assert len(message["tool_calls"]) == 1
    assert "reasoning_content" not in message


@pytest.mark.parametrize("blank", ["", " "])
def test_a_call_without_reasoning_has_a_blank_where_one_is_demanded(blank: str) -> None:
    rules = ChatRequestQuirks(replays="reasoning_content", blank_reasoning=blank)
    assert replied(call(0), rules=rules)["reasoning_content"] == blank
    assert replied(call(0), rules=rules, dialect="gemini")["reasoning_content"] == blank
    assert replied(thought(0, "hm"), call(1), rules=rules)["reasoning_content"] == "hm"
    assert "reasoning_content" not in replied(text(0, "Yes."), rules=rules)


def test_details_go_back_one_by_one_in_their_order() -> None:
    facts = {"format": "anthropic-claude-v1", "index": 0}
    parts = (
        thought(0, "hm", signature="S1", provider_data=facts, item_id="r1"),
        redacted(1, "DATA", provider_data={"format": "openai-responses-v1", "index": 1}),
        thought(2, "in short", kind="summary", provider_data={"index": 2}),
        text(3, "Yes."),
    )
    message = replied(*parts, rules=ChatRequestQuirks(replays="reasoning_details"))
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "text": "hm", "signature": "S1", **facts, "id": "r1"},
        {
            "type": "reasoning.encrypted",
            "data": "DATA",
            "format": "openai-responses-v1",
            "index": 1,
        },
        {"type": "reasoning.summary", "summary": "in short", "index": 2},
    ]


def test_where_no_details_came_the_words_go_back() -> None:
    message = replied(
        thought(0, "hm"), text(1, "Yes."), rules=ChatRequestQuirks(replays="reasoning_details")
    )
    assert message == {"role": "assistant", "content": "Yes.", "reasoning": "hm"}


def test_thoughts_stand_among_the_content_where_they_stood() -> None:
    parts = (thought(0, "a"), text(1, "b"), thought(2, "c"), text(3, "d"))
    message = replied(*parts, rules=ChatRequestQuirks(replays="thinking_parts"))
    kinds = [entry["type"] for entry in message["content"]]
    assert kinds == ["thinking", "text", "thinking", "text"]
    assert message["content"][0] == {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "a"}],
    }


def test_an_opaque_seal_goes_back_beside_the_words() -> None:
    rules = ChatRequestQuirks(replays="reasoning_text")
    message = replied(thought(0, "hm", signature="S"), text(1, "Yes."), rules=rules)
    assert (message["reasoning_text"], message["reasoning_opaque"]) == ("hm", "S")
    sealed = replied(thought(0, "", signature="S"), text(1, "Yes."), rules=rules)
    assert "reasoning_text" not in sealed
    assert sealed["reasoning_opaque"] == "S"


REMOTE = FileContent(media_type="application/pdf", url="https://example.com/a.pdf", name="a.pdf")


def test_the_address_of_a_file_is_refused_where_only_data_is_taken() -> None:
    with pytest.raises(UsageError, match=r"the data of a file, not its address .*a\.pdf"):
        messages(asked(TextContent("Sum up."), REMOTE))


def test_the_address_of_a_file_is_sent_where_it_is_taken() -> None:
    rules = ChatRequestQuirks(takes_file_urls=True)
    [message] = messages(asked(TextContent("Sum up."), REMOTE), rules=rules)
    assert message["content"][1] == {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": "https://example.com/a.pdf"},
    }
