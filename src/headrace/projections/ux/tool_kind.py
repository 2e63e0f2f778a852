"""Tools that a provider runs, by kind: each kind has frames and a segment of its own."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from headrace.events import Executor, JSONObject
from headrace.projections.ux import frame as fr
from headrace.projections.ux import segment as sg


class ToolKind(msgspec.Struct, frozen=True):
    """What the calls of one kind are shown with."""

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
# The first that fits. Tools of an MCP server have names of their own: their type comes first.
_KINDS: Final = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"^mcp", _MCP),
        (r"(?:^|_)(?:web|google|browser|x)(?:_[a-z]+)*?_search", _WEB_SEARCH),
        (r"code_(?:interpreter|execution)", _CODE),
        (r"(?:^|_)(?:file|collections?|attachment)_search", _FILE_SEARCH),
        (r"image_gen", _IMAGE),
    )
)
TOOL_KINDS: Final = (ANY_TOOL, _WEB_SEARCH, _CODE, _FILE_SEARCH, _MCP, _IMAGE)
KIND_OF_FRAME: Final = {kind.started: kind for kind in TOOL_KINDS}
"""The kind that a `…_started` frame tells."""
TOOL_FRAME_TYPES: Final = tuple(
    str(frame.__struct_config__.tag)
    for kind in TOOL_KINDS
    for frame in (kind.started, kind.update, kind.result)
)
"""The `type` of every frame about a tool."""
_OTHER = re.compile(r"[^a-z0-9]+")


def kind_of(name: str, executor: Executor, provider_data: JSONObject | None) -> ToolKind:
    """The kind of a call. Tools of ours are `tool_call`s, whatever they are named."""
    if executor == "client":
        return ANY_TOOL
    told = (provider_data or {}).get("type")
    for word in (told, name):
        plain = _OTHER.sub("_", word.lower()) if isinstance(word, str) else ""
        for pattern, kind in _KINDS:
            if pattern.search(plain):
                return kind
    return ANY_TOOL
