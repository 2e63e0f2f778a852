"""Tools that Anthropic runs itself, and what else a request with them needs."""

from __future__ import annotations

from headrace.encoders.model_family import is_generation_at_least, parse_family
from headrace.encoders.provider_tool import (
    CodeInterpreter,
    Encoders,
    MCPServer,
    WebFetch,
    WebSearch,
    encode_location,
    encode_provider_tool,
    named_fields,
    refuse_settings,
)
from headrace.encoders.request import Request
from headrace.events import JSONObject

_WHO = "Anthropic"
# The first generation whose tools filter results with code.
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
_FILTERS_SINCE = (4, 6)
_MCP_BETA = "mcp-client-2025-11-20"
_COMPACT_BETA = "compact-2026-01-12"
_EDIT_BETA = "context-management-2025-06-27"


def encode_provider_tools(request: Request) -> JSONObject:
    """Return the tools as entries of `tools`, and the MCP servers beside them."""
    is_new = parse_family(request.model) == "claude" and is_generation_at_least(
        request.model, _FILTERS_SINCE
    )
    encoders: Encoders = {
        WebSearch: _encode_new_search if is_new else _encode_old_search,
        WebFetch: _encode_new_fetch if is_new else _encode_old_fetch,
        CodeInterpreter: _encode_code,
        MCPServer: _encode_toolset,
    }
    tools = [encode_provider_tool(tool, encoders, _WHO) for tool in request.provider_tools]
    servers = [_encode_server(t) for t in request.provider_tools if isinstance(t, MCPServer)]
    return named_fields(tools=tools or None, mcp_servers=servers or None)


def encode_context_edits(request: Request) -> JSONObject:
    """Return what Anthropic is to remove from a long conversation by itself."""
    options = request.options
    edits: list[JSONObject] = []
    if options.clear_tool_results_at is not None:
        trigger = {"type": "input_tokens", "value": options.clear_tool_results_at}
        edits.append({"type": "clear_tool_uses_20250919", "trigger": trigger})
    if options.compact_at is not None:
        trigger = {"type": "input_tokens", "value": options.compact_at}
        edits.append({"type": "compact_20260112", "trigger": trigger})
    return {"context_management": {"edits": edits}} if edits else {}


def find_betas(request: Request) -> list[str]:
    """Return the beta features that a request needs, and those that its options name."""
    needed = {
        _MCP_BETA: any(isinstance(tool, MCPServer) for tool in request.provider_tools),
        _COMPACT_BETA: request.options.compact_at is not None,
        _EDIT_BETA: request.options.clear_tool_results_at is not None,
    }
    names = [name for name, is_needed in needed.items() if is_needed]
    return [*names, *(name for name in request.options.betas if name not in names)]


def _encode_new_search(tool: WebSearch) -> JSONObject:
    return _encode_search(tool, "web_search_20260209")


def _encode_old_search(tool: WebSearch) -> JSONObject:
    return _encode_search(tool, "web_search_20250305")


def _encode_search(tool: WebSearch, kind: str) -> JSONObject:
    refuse_settings(tool, _WHO, "context_size")
    return {"type": kind, "name": "web_search"} | named_fields(
        allowed_domains=tool.allowed_domains,
        blocked_domains=tool.blocked_domains,
        max_uses=tool.max_uses,
        user_location=encode_location(tool.location),
    )


def _encode_new_fetch(tool: WebFetch) -> JSONObject:
    return _encode_fetch(tool, "web_fetch_20260209")


def _encode_old_fetch(tool: WebFetch) -> JSONObject:
    return _encode_fetch(tool, "web_fetch_20250910")


def _encode_fetch(tool: WebFetch, kind: str) -> JSONObject:
    return {"type": kind, "name": "web_fetch"} | named_fields(
        allowed_domains=tool.allowed_domains,
        blocked_domains=tool.blocked_domains,
        max_uses=tool.max_uses,
    )


def _encode_code(tool: CodeInterpreter) -> JSONObject:
    refuse_settings(tool, _WHO, "files")
    return {"type": "code_execution_20250825", "name": "code_execution"}


def _encode_toolset(tool: MCPServer) -> JSONObject:
    refuse_settings(tool, _WHO, "needs_approval")
    toolset: JSONObject = {"type": "mcp_toolset", "mcp_server_name": tool.name}
    if tool.allowed_tools:
        toolset["default_config"] = {"enabled": False}
        toolset["configs"] = {name: {"enabled": True} for name in tool.allowed_tools}
    return toolset


def _encode_server(tool: MCPServer) -> JSONObject:
    return {"type": "url", "name": tool.name, "url": tool.url} | named_fields(
        authorization_token=tool.authorization
    )
