"""Frames and segments for each kind of provider-run tool."""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.events import Executor, JSONObject
from headrace.projections.ux import frame as fr
from headrace.projections.ux import segment as sg
from headrace.status import tool_kind as kinds


class ToolKind(msgspec.Struct, frozen=True):
    """The frame and segment types of one kind of tool."""

    started: type[fr.ToolCallStarted]
    update: type[fr.ToolCallUpdate]
    result: type[fr.ToolResultFrame]
    segment: type[sg.ToolSegment]


ANY_TOOL: Final = ToolKind(
    fr.ToolCallStarted, fr.ToolCallUpdate, fr.ToolResultFrame, sg.ToolSegment
)
_WEB_SEARCH: Final = ToolKind(
    fr.WebSearchCallStarted, fr.WebSearchCallUpdate, fr.WebSearchCallResult, sg.WebSearchSegment
)
_CODE: Final = ToolKind(
    fr.CodeInterpreterCallStarted,
    fr.CodeInterpreterCallUpdate,
    fr.CodeInterpreterCallResult,
    sg.CodeInterpreterSegment,
)
_FILE_SEARCH: Final = ToolKind(
    fr.FileSearchCallStarted, fr.FileSearchCallUpdate, fr.FileSearchCallResult, sg.FileSearchSegment
)
_MCP: Final = ToolKind(fr.MCPCallStarted, fr.MCPCallUpdate, fr.MCPCallResult, sg.MCPSegment)
_IMAGE: Final = ToolKind(
    fr.ImageGenerationCallStarted,
    fr.ImageGenerationCallUpdate,
    fr.ImageGenerationCallResult,
    sg.ImageGenerationSegment,
)
_SHOWN: Final[dict[kinds.ToolKind, ToolKind]] = {
    "mcp": _MCP,
    "web_search": _WEB_SEARCH,
    "code_interpreter": _CODE,
    "file_search": _FILE_SEARCH,
    "image_generation": _IMAGE,
}
TOOL_KINDS: Final = (ANY_TOOL, _WEB_SEARCH, _CODE, _FILE_SEARCH, _MCP, _IMAGE)
KIND_OF_FRAME: Final = {kind.started: kind for kind in TOOL_KINDS}
"""The tool kind of each `…_started` frame."""
TOOL_FRAME_TYPES: Final = tuple(
    str(frame.__struct_config__.tag)
    for kind in TOOL_KINDS
    for frame in (kind.started, kind.update, kind.result)
)
"""The `type` of every frame about a tool."""


def kind_of(name: str, executor: Executor, provider_data: JSONObject | None) -> ToolKind:
    """Return the kind of a call. Client tools are always `tool_call`s, whatever their name."""
    kind = None if executor == "client" else kinds.tool_kind(name, provider_data)
    return ANY_TOOL if kind is None else _SHOWN[kind]
