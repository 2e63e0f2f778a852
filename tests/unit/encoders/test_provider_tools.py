"""Tools that a provider runs: accepted by its published types, or refused by name."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import headrace
from headrace.encoders import Request, ToolSpec, parse_options
from headrace.encoders.provider_tool import (
    CodeInterpreter,
    FileSearch,
    ImageGeneration,
    Location,
    MCPServer,
    WebFetch,
    WebSearch,
    XSearch,
)
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.testing import ScriptedTransport
from headrace.transport.call_secrets import recordable_body
from headrace.turn.model import encode_call, model_for
from tests.published import accepts

OSLO = Location(city="Oslo", country="NO", timezone="Europe/Oslo")
PLACE = {"type": "approximate", "city": "Oslo", "country": "NO", "timezone": "Europe/Oslo"}
MCP = MCPServer("https://mcp.example/sse", "deep", ("dig",), "token-1234567890")
MODELS = {
    "responses": "openai:gpt-5",
    "xai-responses": "xai:grok-4",
    "anthropic": "anthropic:claude-sonnet-5",
    "gemini": "gemini:gemini-3-pro",
    "xai": "xai-grpc:grok-4",
    "chat": "openai-chat:gpt-5",
    "openrouter": "openrouter:openai/gpt-5",
    "ollama": "ollama:m",
}
# What each model has: a tool with the settings that it knows, and the entry that is sent.
HAS: list[tuple[str, Any, Any]] = [
    ("responses", WebSearch(), {"type": "web_search"}),
    ("responses", WebSearch(allowed_domains=("a.no",), location=OSLO, context_size="low"), {
        "type": "web_search", "filters": {"allowed_domains": ["a.no"]},
        "search_context_size": "low",
        "user_location": PLACE,
    }),
    ("responses", CodeInterpreter(files=("f1",)), {
        "type": "code_interpreter", "container": {"type": "auto", "file_ids": ["f1"]},
    }),
    ("responses", FileSearch(("vs_1",), 5), {
        "type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 5,
    }),
    ("responses", MCP, {
        "type": "mcp", "server_label": "deep", "server_url": "https://mcp.example/sse",
        "require_approval": "never", "allowed_tools": ["dig"], "authorization": "token-1234567890",
    }),
    ("responses", ImageGeneration(size="1024x1024", quality="low", format="png"), {
        "type": "image_generation", "size": "1024x1024", "quality": "low", "output_format": "png",
    }),
    ("xai-responses", XSearch(allowed_handles=("x",), from_date="2026-01-31"), {
        "type": "x_search", "allowed_x_handles": ["x"], "from_date": "2026-01-31",
    }),
    ("xai-responses", WebSearch(blocked_domains=("b.no",)), {
        "type": "web_search", "filters": {"excluded_domains": ["b.no"]},
    }),
    ("anthropic", WebSearch(blocked_domains=("b.no",), max_uses=3, location=OSLO), {
        "type": "web_search_20260209", "name": "web_search", "blocked_domains": ["b.no"],
        "max_uses": 3,
        "user_location": PLACE,
    }),
    ("anthropic", WebFetch(allowed_domains=("a.no",)), {
        "type": "web_fetch_20260209", "name": "web_fetch", "allowed_domains": ["a.no"],
    }),
    ("anthropic", CodeInterpreter(), {"type": "code_execution_20250825", "name": "code_execution"}),
    ("anthropic", MCP, {
        "type": "mcp_toolset", "mcp_server_name": "deep", "default_config": {"enabled": False},
        "configs": {"dig": {"enabled": True}},
    }),
    ("gemini", WebSearch(), {"googleSearch": {}}),
    ("gemini", WebFetch(), {"urlContext": {}}),
    ("gemini", CodeInterpreter(), {"codeExecution": {}}),
    ("gemini", FileSearch(("stores/1",), 4), {
        "fileSearch": {"fileSearchStoreNames": ["stores/1"], "topK": 4},
    }),
    ("gemini", MCPServer("https://mcp.example", authorization="token-1234567890"), {
        "mcpServers": [{"name": "mcp", "streamableHttpTransport": {
            "url": "https://mcp.example", "headers": {"Authorization": "Bearer token-1234567890"},
        }}],
    }),
    ("xai", WebSearch(allowed_domains=("a.no",), location=OSLO), {"web_search": {
        "allowed_domains": ["a.no"],
        "user_location": {"city": "Oslo", "country": "NO", "timezone": "Europe/Oslo"},
    }}),
    ("xai", XSearch(to_date="2026-01-31"), {"x_search": {"to_date": "2026-01-31T00:00:00Z"}}),
    ("xai", CodeInterpreter(), {"code_execution": {}}),
    ("xai", FileSearch(("c1",)), {"collections_search": {"collection_ids": ["c1"]}}),
    ("xai", MCPServer("https://mcp.example"), {
        "mcp": {"server_label": "mcp", "server_url": "https://mcp.example"},
    }),
]  # fmt: skip
LACKS = [
    ("responses", XSearch()),
    ("responses", WebFetch()),
    ("responses", WebSearch(max_uses=2)),
    ("xai-responses", WebFetch()),
    ("anthropic", FileSearch(("s",))),
    ("anthropic", ImageGeneration()),
    ("anthropic", WebSearch(context_size="low")),
    ("gemini", XSearch()),
    ("gemini", WebSearch(allowed_domains=("a.no",))),
    ("xai", WebFetch()),
    ("chat", WebSearch()),
    ("openrouter", CodeInterpreter()),
    ("ollama", WebSearch()),
]


def call_with(model: str, *tools: Any, specs: tuple[ToolSpec, ...] = (), **options: Any) -> Any:
    endpoint = model_for(model, api_key="k").endpoint
    request = Request(
        model=endpoint.model,
        provider=endpoint.provider.name,
        messages=(Message.user("Why?"),),
        tools=specs,
        provider_tools=tools,
        options=parse_options(options),
    )
    return encode_call(endpoint, request)


@pytest.mark.parametrize(("name", "tool", "entry"), HAS, ids=lambda v: type(v).__name__)
def test_a_tool_is_asked_for_as_the_provider_wants_it(name: str, tool: Any, entry: Any) -> None:
    call = call_with(MODELS[name], tool)
    body = json.loads(call.body)
    assert body["tools"] == [entry]
    if name != "xai-responses":  # OpenAI's types do not have these
        accepts(name, body)


@pytest.mark.parametrize(("name", "tool"), LACKS, ids=lambda v: type(v).__name__)
def test_a_tool_or_a_setting_that_a_provider_lacks_is_refused(name: str, tool: Any) -> None:
    with pytest.raises(UsageError, match=type(tool).__name__):
        call_with(MODELS[name], tool)


@pytest.mark.parametrize(
    ("tool", "problem"),
    [
        (FileSearch("vs_1"), r"setting of FileSearch is wrong: .*stores"),  # type: ignore[arg-type]
        (WebSearch(allowed_domains="a.no"), "allowed_domains"),  # type: ignore[arg-type]
        (WebSearch(context_size="huge"), "context_size"),  # type: ignore[arg-type]
        (MCPServer("tides"), "the MCP server 'mcp' is no URL"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_is_sent(tool: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        headrace.stream("openai:m", "?", api_key="k", tools=[tool])


def test_a_list_of_settings_is_taken_too() -> None:
    tools: Any = [WebSearch(allowed_domains=["a.no"])]  # type: ignore[arg-type]
    script = ScriptedTransport(["Yes."], dialect="responses")
    headrace.complete("openai:m", "?", api_key="k", tools=tools, transport=script)
    assert script.requests[0]["tools"][0]["filters"] == {"allowed_domains": ["a.no"]}


def test_tools_of_both_kinds_go_together() -> None:
    spec = ToolSpec(name="look")
    for name in ("responses", "anthropic", "gemini"):
        body = json.loads(call_with(MODELS[name], WebSearch(), specs=(spec,)).body)
        accepts(name, body)
        assert len(body["tools"]) == 2
    with pytest.raises(UsageError, match="Gemini before 3"):
        call_with("gemini:gemini-2.5-pro", WebSearch(), specs=(spec,))


def test_an_older_claude_gets_the_older_tools() -> None:
    body = json.loads(call_with("anthropic:claude-sonnet-4-5", WebSearch(), WebFetch()).body)
    assert [tool["type"] for tool in body["tools"]] == ["web_search_20250305", "web_fetch_20250910"]


def test_an_mcp_server_brings_its_address_and_the_beta_along() -> None:
    call = call_with(MODELS["anthropic"], MCP, betas=["x"])
    body = json.loads(call.body)
    assert body["mcp_servers"] == [
        {
            "type": "url",
            "name": "deep",
            "url": "https://mcp.example/sse",
            "authorization_token": "token-1234567890",
        }
    ]
    assert call.headers["anthropic-beta"] == "mcp-client-2025-11-20,x"


def test_the_token_of_an_mcp_server_is_never_shown() -> None:
    request = Request(model="m", messages=(), provider_tools=(MCP,))
    assert "token-1234567890" not in repr(request) + repr(MCP) + str(MCP.__rich_repr__())
    for name in ("responses", "anthropic", "gemini", "xai"):
        tool = MCPServer("https://mcp.example", authorization="token-1234567890")
        recorded = recordable_body(call_with(MODELS[name], tool).body)
        assert "token-1234567890" not in json.dumps(recorded), name


def test_openrouter_searches_the_web_by_a_plugin() -> None:
    body = json.loads(call_with(MODELS["openrouter"], WebSearch(blocked_domains=("b.no",))).body)
    assert body["plugins"] == [{"id": "web", "exclude_domains": ["b.no"]}]


def test_compaction_and_context_editing_by_the_provider() -> None:
    call = call_with(MODELS["anthropic"], compact_at=150_000, clear_tool_results_at=60_000)
    body = json.loads(call.body)
    accepts("anthropic", body)
    kinds = [edit["type"] for edit in body["context_management"]["edits"]]
    assert kinds == ["clear_tool_uses_20250919", "compact_20260112"]
    assert call.headers["anthropic-beta"] == "compact-2026-01-12,context-management-2025-06-27"
    body = json.loads(call_with(MODELS["responses"], compact_at=150_000).body)
    accepts("responses", body)
    assert body["context_management"] == [{"type": "compaction", "compact_threshold": 150_000}]
    with pytest.raises(UsageError, match="clear_tool_results_at"):
        call_with(MODELS["responses"], clear_tool_results_at=1)
    with pytest.raises(UsageError, match="compact_at"):
        call_with(MODELS["gemini"], compact_at=1)


def look() -> str:
    """Look."""
    return "nothing"


def test_an_agent_and_a_stream_take_them_among_their_tools() -> None:
    script = ScriptedTransport(["Hi.", "Hi."], dialect="responses")
    agent = headrace.Agent(
        "openai:gpt-5", tools=[look, headrace.WebSearch()], transport=script, api_key="k"
    )
    agent.complete("?")
    headrace.complete(
        "openai:gpt-5", "?", tools=[headrace.WebSearch()], transport=script, api_key="k"
    )
    first, second = script.requests
    assert [tool["type"] for tool in first["tools"]] == ["function", "web_search"]
    assert second["tools"] == [{"type": "web_search"}]
    assert agent.tools.names == ("look",)
    with pytest.raises(UsageError, match=r"give an object, WebSearch\(\)"):
        headrace.Agent("openai:gpt-5", tools=[headrace.WebSearch])
    assert msgspec.json.encode(agent.options)
