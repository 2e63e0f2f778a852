"""The reference page of tools, read off the code."""

from __future__ import annotations

from docs.outline import function, interface, struct, table
from headrace.tools import Tool, ToolContext, ToolReturn, tool_error
from headrace.tools.builtin import (
    Note,
    NotePad,
    clock_tool,
    default_tools,
    fetch_tool,
)
from headrace.transport.fetch import FetchLimits

_INTRO = """\
Functions that a model may call. [Add a tool](../howto/add-a-tool.md) tells how; the names are in
`headrace.tools`, those of the tools that come along in `headrace.tools.builtin`."""
_TOOL = "`tool` is the same as a decorator: `@tool`, or `@tool(timeout_s=10)`."


def page_parts() -> list[str]:
    """The page, piece by piece."""
    parts = [_INTRO, "## Making tools", interface(Tool), _TOOL]
    parts += [interface(ToolContext, is_made=False)]
    parts += ["## Results", struct(ToolReturn), function(tool_error)]
    parts += ["## Tools that come along", function(default_tools), built_in()]
    parts += [function(clock_tool), interface(NotePad), struct(Note)]
    parts += [function(fetch_tool), struct(FetchLimits)]
    return parts


def built_in() -> str:
    """What the model is told of each."""
    tools = (*default_tools(), *NotePad().tools[1:], fetch_tool())
    rows = [
        (
            f"`{one.name}`",
            ", ".join(f"`{name}`" for name in one.parameters["properties"]),
            " ".join(one.description.split()),
        )
        for one in tools
    ]
    return table(("tool", "arguments", "what the model is told"), rows)
