"""Requests of the Chat Completions API, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsBase

from headrace.content import CacheBreak, FileContent, ImageContent, TextContent
from headrace.encoders import Options, OutputSchema
from headrace.messages import CallPart, ReasoningPart, RedactedPart, Seal, TextPart
from headrace.messages.seal_envelope import SealEnvelope, encode_envelope
from headrace.readers import InvalidRequest
from headrace.readers.openai_chat import ChatRequest, read_request

USER = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "tides", "parameters": {"type": "object"}}}


def read(*messages: Any, **fields: Any) -> ChatRequest:
    return read_request({"model": "m", "messages": [*(messages or [USER])], **fields})


def options(**fields: Any) -> Options:
    return read(**fields).request.options


# Fields of the published type that are not read, each with what happens to it.
NOT_READ = {
    "metadata": "kept",
    "store": "kept",
    "prediction": "kept",
    "moderation": "kept",
    "prompt_cache_options": "kept",
    "web_search_options": "kept",
}


def test_every_published_field_is_read_kept_or_refused() -> None:
    samples: dict[str, Any] = {
        "audio": {"voice": "x", "format": "wav"},
        "n": 2,
        "stream": True,
        "stream_options": {"include_usage": True},
        "model": "m",
        "messages": [USER],
    }
    for name in CompletionCreateParamsBase.__annotations__:
        if name in NOT_READ:
            assert name in read(**{name: {"a": "b"}}).unknown
        elif name == "n":
            asked = read(n=samples["n"])
            assert asked.same_grammar_only is not None
            assert asked.same_grammar_only.param == "n"
        elif name == "audio":
            with pytest.raises(InvalidRequest) as refused:
                read(**{name: samples[name]})
            assert refused.value.param == name
        else:
            asked = read_request(
                {"model": "m", "messages": [USER], name: samples.get(name)}
                | {key: value for key, value in samples.items() if key in ("model", "messages")}
            )
            assert name not in asked.unknown


@pytest.mark.parametrize(
    ("field", "value", "name", "read_as"),
    [
        ("max_tokens", 5, "max_tokens", 5),
        ("max_completion_tokens", 5, "max_tokens", 5),
        ("temperature", 0, "temperature", 0.0),
        ("top_p", 0.5, "top_p", 0.5),
        ("top_k", 3, "top_k", 3),
        ("stop", "x", "stop", ("x",)),
        ("stop", ["x", "y"], "stop", ("x", "y")),
        ("seed", 1, "seed", 1),
        ("frequency_penalty", 1.5, "frequency_penalty", 1.5),
        ("presence_penalty", 1.5, "presence_penalty", 1.5),
        ("presence_penalty", 0, "presence_penalty", None),
        ("logit_bias", {}, "logit_bias", None),
        ("logit_bias", {"1": 2}, "logit_bias", {"1": 2}),
        ("logprobs", True, "logprobs", True),
        ("top_logprobs", 2, "top_logprobs", 2),
        ("verbosity", "low", "verbosity", "low"),
        ("user", "u", "user", "u"),
        ("safety_identifier", "u", "user", "u"),
        ("service_tier", "flex", "service_tier", "flex"),
        ("service_tier", "auto", "service_tier", None),
        ("prompt_cache_key", "k", "prompt_cache_key", "k"),
        ("prompt_cache_retention", "24h", "cache", "24h"),
        ("parallel_tool_calls", False, "parallel_calls", False),
        ("reasoning_effort", "high", "effort", "high"),
        ("reasoning", {"effort": "low"}, "effort", "low"),
        ("reasoning", {"max_tokens": 2000}, "effort", "low"),
        ("reasoning", {"enabled": False}, "effort", "none"),
        ("thinking", {"type": "disabled"}, "effort", "none"),
        ("thinking", {"type": "enabled", "budget_tokens": 16000}, "effort", "high"),
        ("enable_thinking", True, "effort", "medium"),
        ("chat_template_kwargs", {"enable_thinking": False}, "effort", "none"),
        ("response_format", {"type": "text"}, "output", None),
    ],
)
def test_an_option_is_read(field: str, value: Any, name: str, read_as: Any) -> None:
    assert getattr(options(**{field: value}), name) == read_as


def test_schemas_are_read() -> None:
    told = {"name": "city", "schema": {"type": "object"}, "strict": True}
    asked = options(response_format={"type": "json_schema", "json_schema": told})
    assert asked.output == OutputSchema(schema={"type": "object"}, name="city")
    loose = options(response_format={"type": "json_object"}).output
    assert loose is not None
    assert not loose.is_strict


@pytest.mark.parametrize(
    ("choice", "read_as"),
    [
        ("auto", "auto"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "tides"}}, "tides"),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "tides"}}],
                },
            },
            "required",
        ),
    ],
)
def test_a_tool_choice_is_read(choice: Any, read_as: str) -> None:
    other = {"type": "function", "function": {"name": "other"}}
    request = read(tools=[TOOL, other], tool_choice=choice).request
    assert request.tool_choice == read_as
    is_limited = isinstance(choice, dict) and choice["type"] == "allowed_tools"
    assert len(request.tools) == (1 if is_limited else 2)


def test_legacy_functions_are_tools() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    result = {"role": "function", "name": "f", "content": "noon"}
    asked = read(USER, call, result, functions=[{"name": "f"}], function_call={"name": "f"})
    assert [tool.name for tool in asked.request.tools] == ["f"]
    assert asked.request.tool_choice == "f"
    assert asked.request.messages[1].turns[0].results[0].content == (TextContent("noon"),)


def test_content_is_read() -> None:
    blocks = [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ==", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://x.org/a.jpg"}},
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QQ=="},
        },
        {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}},
    ]
    assert read({"role": "user", "content": blocks}).request.messages[0].content == (
        TextContent("a"),
        CacheBreak("1h"),
        ImageContent(media_type="image/png", data="QQ=="),
        ImageContent(media_type="image/jpeg", url="https://x.org/a.jpg"),
        FileContent(media_type="application/pdf", name="a.pdf", data="QQ=="),
        FileContent(media_type="audio/mpeg", data="QQ=="),
    )


def test_instructions_are_those_at_the_beginning() -> None:
    system = {"role": "system", "content": "Be brief."}
    developer = {"role": "developer", "content": [{"type": "text", "text": "Rhyme."}]}
    request = read(system, developer, USER, system).request
    assert request.instructions == "Be brief.\n\nRhyme."
    assert [message.role for message in request.messages] == ["user", "system"]


def test_reasoning_in_a_history_is_read_once() -> None:
    blocks = [
        {"type": "thinking", "thinking": "why", "signature": "sig"},
        {"type": "redacted_thinking", "data": "secret"},
    ]
    reply = {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "why",
        "thinking_blocks": blocks,
    }
    (turn,) = read(USER, reply, USER).request.messages[1].turns
    thought, hidden, text = turn.parts
    assert isinstance(thought, ReasoningPart)
    assert (thought.text, thought.signature) == ("why", "sig")
    assert isinstance(hidden, RedactedPart)
    assert isinstance(text, TextPart)
    assert turn.dialect == "anthropic"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_plain_reasoning_in_a_history_is_read(field: str) -> None:
    reply = {"role": "assistant", "content": "x", field: "why"}
    assert read(USER, reply, USER).request.messages[1].reasoning == "why"


def test_an_envelope_is_opened_and_not_passed_on() -> None:
    seal = encode_envelope(
        SealEnvelope(
            dialect="gemini", model="gemini-3", call_id="c1", seals=(Seal("signature", "s"),)
        )
    )
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"a": 1}'},
        "extra_content": {"google": {"thought_signature": seal}},
    }
    reply = {"role": "assistant", "content": None, "tool_calls": [call]}
    asked = read(USER, reply, {"role": "tool", "tool_call_id": "c1", "content": "r"})
    (turn,) = asked.request.messages[1].turns
    assert (turn.dialect, turn.model) == ("gemini", "gemini-3")
    (part,) = turn.parts
    assert isinstance(part, CallPart)
    assert part.seals == (Seal("signature", "s"),)
    assert part.args == {"a": 1}
    assert asked.dialect is None
    assert asked.body == {}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0]"),
    ({"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]}, "messages[0]"),
    ({"messages": "Hi"}, "messages"),
    ({"temperature": "warm"}, "temperature"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"reasoning_effort": "huge"}, "reasoning_effort"),
    ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
    ({"response_format": {"type": "grammar"}}, "response_format"),
    ({"model": None}, "model"),
]


@pytest.mark.parametrize(("fields", "param"), WRONG)
def test_what_is_wrong_is_named(fields: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_request({"model": "m", "messages": [USER], **fields})
    assert refused.value.param == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 3}, "n"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0]"),
        ({"tool_choice": {"type": "custom", "custom": {"name": "x"}}}, "tool_choice"),
    ],
)
def test_what_other_grammars_do_not_have_is_for_the_same_grammar_only(
    fields: Any, param: str
) -> None:
    asked = read_request({"model": "m", "messages": [USER], **fields})
    assert asked.same_grammar_only is not None
    assert asked.same_grammar_only.param == param
    assert asked.body.keys() >= fields.keys()


def test_the_model_must_be_named() -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_request({"messages": [USER]})
    assert refused.value.param == "model"


def test_unknown_fields_and_the_body_are_kept() -> None:
    asked = read(mirostat=2, stream=True, stream_options={"include_usage": True})
    assert asked.unknown == {"mirostat": 2}
    assert asked.is_stream
    assert asked.include_usage
    assert asked.dialect == "chat"
    assert asked.body["mirostat"] == 2
