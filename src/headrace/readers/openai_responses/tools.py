"""Reads the tools of a Responses request, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from headrace.encoders import ToolSpec
from headrace.encoders.provider_tool import (
    CodeInterpreter,
    FileSearch,
    ImageGeneration,
    Location,
    MCPServer,
    ProviderTool,
    WebSearch,
    XSearch,
)
from headrace.events import JSONObject
from headrace.readers.incoming import InvalidRequest
from headrace.wire.json.value import as_object, as_objects, as_text

_CHOICES = ("auto", "none", "required")


class ReadTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a request."""

    client: tuple[ToolSpec, ...]
    """Tools that the client runs."""
    provider: tuple[ProviderTool, ...]
    """Tools that the provider runs."""
    provider_bodies: tuple[JSONObject, ...]
    """The same tools as they came."""
    foreign: tuple[InvalidRequest, ...]
    """Why other grammars do not have the rest of them."""


def read_tools(tools: Any) -> ReadTools:
    """Read the tools of a request. Raises `InvalidRequest`."""
    if not isinstance(tools, list):
        raise InvalidRequest("tools must be a list", "tools")
    specs: list[ToolSpec] = []
    provided: list[ProviderTool] = []
    bodies: list[JSONObject] = []
    foreign: list[InvalidRequest] = []
    for at, tool in enumerate(as_objects(tools)):  # pyright: ignore[reportUnknownArgumentType]
        kind = as_text(tool.get("type")) or ""
        try:
            if kind == "function":
                specs.append(_read_function(tool))
            elif kind in _PROVIDER_TOOLS:
                provided.append(_PROVIDER_TOOLS[kind](tool))
                bodies.append(tool)
            else:
                text = f"tools of type {kind!r:.60} are not supported"
                foreign.append(InvalidRequest(text, f"tools[{at}]"))
        except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
            raise InvalidRequest(f"the tool is malformed: {error}", f"tools[{at}]") from None
    return ReadTools(
        client=tuple(specs),
        provider=tuple(provided),
        provider_bodies=tuple(bodies),
        foreign=tuple(foreign),
    )


def _read_function(tool: JSONObject) -> ToolSpec:
    fields = {
        "name": tool["name"],
        "description": tool.get("description") or "",
        "is_strict": bool(tool.get("strict")),
    }
    if tool.get("parameters") is not None:
        fields["parameters"] = tool["parameters"]
    return msgspec.convert(fields, ToolSpec)


def _read_search(tool: JSONObject) -> WebSearch:
    filters = as_object(tool.get("filters"))
    location = as_object(tool.get("user_location"))
    place = {name: location.get(name) for name in Location.__struct_fields__}
    return msgspec.convert(
        {
            "allowed_domains": tuple(filters.get("allowed_domains") or ()),
            "blocked_domains": tuple(filters.get("excluded_domains") or ()),
            "location": msgspec.convert(place, Location) if location else None,
            "context_size": tool.get("search_context_size"),
        },
        WebSearch,
    )


def _read_x_search(tool: JSONObject) -> XSearch:
    return XSearch(
        allowed_handles=tuple(tool.get("allowed_x_handles") or ()),
        excluded_handles=tuple(tool.get("excluded_x_handles") or ()),
        from_date=tool.get("from_date"),
        to_date=tool.get("to_date"),
    )


def _read_code(tool: JSONObject) -> CodeInterpreter:
    container = as_object(tool.get("container"))
    return CodeInterpreter(files=tuple(container.get("file_ids") or ()))


def _read_files(tool: JSONObject) -> FileSearch:
    return FileSearch(tuple(tool["vector_store_ids"]), tool.get("max_num_results"))


def _read_mcp(tool: JSONObject) -> MCPServer:
    return MCPServer(
        tool["server_url"],
        tool["server_label"],
        tuple(tool.get("allowed_tools") or ()),
        tool.get("authorization"),
        tool.get("require_approval", "always") == "always",
    )


def _read_images(tool: JSONObject) -> ImageGeneration:
    return ImageGeneration(
        size=tool.get("size"),
        quality=tool.get("quality"),
        background=tool.get("background"),
        format=tool.get("output_format"),
    )


_PROVIDER_TOOLS: dict[str, Callable[[JSONObject], ProviderTool]] = {
    "web_search": _read_search,
    "web_search_preview": _read_search,
    "x_search": _read_x_search,
    "code_interpreter": _read_code,
    "file_search": _read_files,
    "mcp": _read_mcp,
    "image_generation": _read_images,
}


def read_tool_choice(
    choice: Any, tools: Sequence[ToolSpec]
) -> tuple[str | None, tuple[ToolSpec, ...]]:
    """Return the choice, and the tools that it leaves."""
    if choice is None or choice in _CHOICES:
        return choice, tuple(tools)
    told = as_object(choice)
    if told.get("type") == "function" and as_text(told.get("name")):
        return told["name"], tuple(tools)
    if told.get("type") == "allowed_tools" and told.get("mode") in _CHOICES:
        names = {tool.get("name") for tool in as_objects(told.get("tools"))}
        return told["mode"], tuple(tool for tool in tools if tool.name in names)
    raise InvalidRequest(f"there is no tool choice {choice!r:.80}", "tool_choice")
