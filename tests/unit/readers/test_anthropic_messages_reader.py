"""Requests of the Messages API, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsBase

from headrace.content import CacheBreak, FileContent, ImageContent, TextContent
from headrace.encoders import Options
from headrace.encoders.provider_tool import CodeInterpreter, MCPServer, WebFetch, WebSearch
from headrace.messages import (
    CallPart,
    OpaquePart,
    OutputPart,
    ReasoningPart,
    RedactedPart,
    Seal,
    TextPart,
)
from headrace.messages.seal_envelope import SealEnvelope, encode_envelope
from headrace.readers import InvalidRequest
from headrace.readers.anthropic_messages import MessagesRequest, read_request

USER = {"role": "user", "content": "Hi"}
EPHEMERAL = {"type": "ephemeral"}
SCHEMA = {"type": "object", "properties": {"day": {"type": "string"}}}

NOT_READ = (
    "container",
    "diagnostics",
    "inference_geo",
    "speed",
    "user_profile_id",
    "workspace_id",
)


def read(*messages: Any, **fields: Any) -> MessagesRequest:
    body = {"model": "m", "max_tokens": 9, "messages": [*(messages or [USER])], **fields}
    return read_request(body)


def options(**fields: Any) -> Options:
    return read(**fields).request.options


def test_every_published_field_is_read_or_kept() -> None:
    for name in MessageCreateParamsBase.__annotations__:
        if name in NOT_READ:
            assert name in read(**{name: "x"}).unknown
        elif name not in ("model", "messages", "max_tokens"):
            assert name not in read(**{name: None}).unknown


@pytest.mark.parametrize(
    ("field", "value", "name", "read_as"),
    [
        ("temperature", 1, "temperature", 1.0),
        ("top_p", 0.5, "top_p", 0.5),
        ("top_k", 3, "top_k", 3),
        ("stop_sequences", ["x"], "stop", ("x",)),
        ("metadata", {"user_id": "u"}, "user", "u"),
        ("service_tier", "standard_only", "service_tier", "standard_only"),
        ("service_tier", "auto", "service_tier", None),
        ("thinking", {"type": "disabled"}, "effort", "none"),
        ("thinking", {"type": "adaptive"}, "effort", "high"),
        ("thinking", {"type": "enabled", "budget_tokens": 1024}, "effort", "minimal"),
        ("thinking", {"type": "enabled", "budget_tokens": 10_000}, "effort", "high"),
        ("thinking", {"type": "enabled", "budget_tokens": 90_000}, "effort", "max"),
        ("output_config", {"effort": "low"}, "effort", "low"),
        ("cache_control", EPHEMERAL, "cache", True),
        ("system", [{"type": "text", "text": "x", "cache_control": EPHEMERAL}], "cache", True),
        (
            "tools",
            [{"name": "f", "input_schema": SCHEMA, "cache_control": EPHEMERAL | {"ttl": "1h"}}],
            "cache",
            "1h",
        ),
        (
            "context_management",
            {
                "edits": [
                    {
                        "type": "clear_tool_uses_20250919",
                        "trigger": {"type": "input_tokens", "value": 5},
                    }
                ]
            },
            "clear_tool_results_at",
            5,
        ),
    ],
)
def test_an_option_is_read(field: str, value: Any, name: str, read_as: Any) -> None:
    assert getattr(options(**{field: value}), name) == read_as


@pytest.mark.parametrize("field", ["output_config", "output_format"])
def test_a_schema_is_read(field: str) -> None:
    told = {"type": "json_schema", "schema": SCHEMA}
    output = options(**{field: {"format": told} if field == "output_config" else told}).output
    assert output is not None
    assert output.schema == SCHEMA


@pytest.mark.parametrize(
    ("choice", "read_as", "parallel"),
    [
        ({"type": "auto"}, "auto", None),
        ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
        ({"type": "tool", "name": "f", "disable_parallel_tool_use": False}, "f", True),
        ({"type": "none"}, "none", None),
    ],
)
def test_a_tool_choice_is_read(choice: Any, read_as: str, parallel: bool | None) -> None:
    request = read(tools=[{"name": "f", "input_schema": SCHEMA}], tool_choice=choice).request
    assert (request.tool_choice, request.parallel_calls) == (read_as, parallel)


def test_tools_of_the_provider_are_read() -> None:
    tools = [
        {
            "type": "web_search_20250305",
            "name": "web_search",
            "max_uses": 2,
            "allowed_domains": ["x.org"],
        },
        {"type": "web_fetch_20250910", "name": "web_fetch"},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "mcp_toolset", "mcp_server_name": "notes"},
    ]
    servers = [{"type": "url", "url": "https://x.org/mcp", "name": "notes"}]
    assert read(tools=tools, mcp_servers=servers).request.provider_tools == (
        WebSearch(max_uses=2, allowed_domains=("x.org",)),
        WebFetch(),
        CodeInterpreter(),
        MCPServer("https://x.org/mcp", "notes"),
    )


def test_content_is_read() -> None:
    png = {"type": "base64", "media_type": "image/png", "data": "QQ=="}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "QQ=="}
    blocks = [
        {"type": "text", "text": "a", "cache_control": EPHEMERAL},
        {"type": "image", "source": png},
        {"type": "document", "source": pdf, "title": "t"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A"}},
    ]
    assert read({"role": "user", "content": blocks}).request.messages[0].content == (
        TextContent("a"),
        CacheBreak(),
        ImageContent(media_type="image/png", data="QQ=="),
        FileContent(media_type="application/pdf", name="t", data="QQ=="),
        FileContent(media_type="text/plain", data="QQ=="),
    )


def test_a_history_with_thinking_and_tools_is_read() -> None:
    blocks = [
        {"type": "thinking", "thinking": "why", "signature": "sig"},
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "x", "citations": [{"type": "char_location"}]},
        {"type": "container_upload", "file_id": "f"},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"day": "today"}},
    ]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "noon", "is_error": True}
    asked = read(
        USER, {"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}
    )
    (turn,) = asked.request.messages[1].turns
    kinds = [type(part) for part in turn.parts]
    assert kinds == [
        ReasoningPart,
        RedactedPart,
        CallPart,
        OutputPart,
        TextPart,
        OpaquePart,
        CallPart,
    ]
    assert turn.results[0].is_error
    assert turn.dialect == "anthropic"
    assert asked.dialect == "anthropic"


def test_parts_of_one_item_are_one_item_again() -> None:
    first = SealEnvelope(dialect="responses", item=4, item_id="rs_1", kind="summary")
    last = SealEnvelope(
        dialect="responses",
        item=4,
        item_id="rs_1",
        kind="summary",
        summary_index=1,
        seals=(Seal("encrypted", "e"),),
    )
    blocks = [
        {"type": "thinking", "thinking": "a", "signature": encode_envelope(first)},
        {"type": "thinking", "thinking": "b", "signature": encode_envelope(last)},
        {"type": "text", "text": "x"},
    ]
    asked = read(USER, {"role": "assistant", "content": blocks}, USER)
    (turn,) = asked.request.messages[1].turns
    assert [part.item for part in turn.parts] == [0, 0, 1]
    assert [part.item_id for part in turn.parts] == ["rs_1", "rs_1", None]
    assert turn.parts[1].seals == (Seal("encrypted", "e"),)
    assert turn.dialect == "responses"
    assert asked.dialect is None


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0]"),
        ({"tools": [{"name": "f"}]}, "tools[0].input_schema"),
        ({"tool_choice": {"type": "some"}}, "tool_choice"),
        ({"output_config": {"effort": "huge"}}, "output_config.effort"),
        ({"system": 3}, "system"),
    ],
)
def test_what_is_wrong_is_named(fields: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_request({"model": "m", "max_tokens": 9, "messages": [USER], **fields})
    assert refused.value.param == param


def test_a_tool_that_only_anthropic_knows_is_for_the_same_grammar_only() -> None:
    tools = [{"type": "bash_20250124", "name": "bash"}, {"name": "f", "input_schema": {"a": 1}}]
    choice = {"type": "tool", "name": "bash"}
    body = {"model": "m", "max_tokens": 9, "messages": [USER], "tools": tools}
    asked = read_request({**body, "tool_choice": choice})
    assert asked.same_grammar_only is not None
    assert asked.same_grammar_only.param == "tools[0]"
    assert [tool.name for tool in asked.request.tools] == ["f"]
    assert asked.request.options.tool_choice is None
    assert asked.body["tools"] == tools
    assert read_request({**body, "tools": tools[1:]}).same_grammar_only is None


def test_an_envelope_that_was_changed_is_refused() -> None:
    seal = encode_envelope(SealEnvelope(dialect="gemini"))
    for changed in (seal[:-4], seal + "x", seal.replace("eyJ", "xxx")):
        block = {"type": "thinking", "thinking": "why", "signature": changed}
        with pytest.raises(InvalidRequest):
            read(USER, {"role": "assistant", "content": [block]}, USER)


def test_counting_needs_no_max_tokens() -> None:
    assert read_request({"model": "m", "messages": [USER]}, counts_tokens=True).request.model == "m"
