"""Tools that OpenAI and xAI run themselves, in the Responses API."""

from __future__ import annotations

from headrace.encoders.provider_tool import (
    CodeInterpreter,
    Encoders,
    FileSearch,
    ImageGeneration,
    MCPServer,
    WebSearch,
    XSearch,
    encode_location,
    encode_provider_tool,
    named_fields,
    refuse_settings,
)
from headrace.encoders.request import Request
from headrace.events import JSONObject

_OPENAI = "OpenAI"
_XAI = "xAI"


def encode_provider_tools(request: Request) -> list[JSONObject]:
    """Return the tools as entries of `tools`."""
    is_xai = (request.provider or "").startswith("xai")
    encoders, who = (_XAI_TOOLS, _XAI) if is_xai else (_OPENAI_TOOLS, _OPENAI)
    return [encode_provider_tool(tool, encoders, who) for tool in request.provider_tools]


def _encode_search(tool: WebSearch) -> JSONObject:
    refuse_settings(tool, _OPENAI, "blocked_domains", "max_uses")
    return {"type": "web_search"} | named_fields(
        filters=named_fields(allowed_domains=tool.allowed_domains),
        user_location=encode_location(tool.location),
        search_context_size=tool.context_size,
    )


def _encode_xai_search(tool: WebSearch) -> JSONObject:
    refuse_settings(tool, _XAI, "max_uses", "context_size", "location")
    return {"type": "web_search"} | named_fields(
        filters=named_fields(
            allowed_domains=tool.allowed_domains, excluded_domains=tool.blocked_domains
        )
    )


def _encode_x_search(tool: XSearch) -> JSONObject:
    return {"type": "x_search"} | named_fields(
        allowed_x_handles=tool.allowed_handles,
        excluded_x_handles=tool.excluded_handles,
        from_date=tool.from_date,
        to_date=tool.to_date,
    )


def _encode_code(tool: CodeInterpreter) -> JSONObject:
    container = {"type": "auto"} | named_fields(file_ids=tool.files)
    return {"type": "code_interpreter", "container": container}


def _encode_xai_code(tool: CodeInterpreter) -> JSONObject:
    refuse_settings(tool, _XAI, "files")
    return {"type": "code_interpreter"}


def _encode_files(tool: FileSearch) -> JSONObject:
    return {"type": "file_search", "vector_store_ids": [*tool.stores]} | named_fields(
        max_num_results=tool.max_results
    )


def _encode_mcp(tool: MCPServer) -> JSONObject:
    return {
        "type": "mcp",
        "server_label": tool.name,
        "server_url": tool.url,
        "require_approval": "always" if tool.needs_approval else "never",
    } | named_fields(allowed_tools=tool.allowed_tools, authorization=tool.authorization)


def _encode_images(tool: ImageGeneration) -> JSONObject:
    return {"type": "image_generation"} | named_fields(
        size=tool.size,
        quality=tool.quality,
        background=tool.background,
        output_format=tool.format,
    )


_OPENAI_TOOLS: Encoders = {
    WebSearch: _encode_search,
    CodeInterpreter: _encode_code,
    FileSearch: _encode_files,
    MCPServer: _encode_mcp,
    ImageGeneration: _encode_images,
}
_XAI_TOOLS: Encoders = {
    WebSearch: _encode_xai_search,
    XSearch: _encode_x_search,
    CodeInterpreter: _encode_xai_code,
    FileSearch: _encode_files,
    MCPServer: _encode_mcp,
}
