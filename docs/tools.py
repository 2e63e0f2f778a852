"""The reference page of tools."""

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
Functions that a model may call. [Add a tool](../howto/add-a-tool.md) shows how to write them. The
names are in `headrace.tools`, the built-in tools in `headrace.tools.builtin`; most can be imported
from `headrace`."""
_TOOL = "`tool` is a decorator that creates a `Tool`: `@tool`, or `@tool(timeout_s=10)`."


def page_parts() -> list[str]:
    """Return the parts of the page."""
    parts = [_INTRO, "## Tools", interface(Tool), _TOOL]
    parts += [interface(ToolContext, is_made=False)]
    parts += ["## Results", struct(ToolReturn), function(tool_error)]
    parts += ["## Built-in tools", function(default_tools), built_in()]
    parts += [function(clock_tool), interface(NotePad), struct(Note)]
    parts += [function(fetch_tool), struct(FetchLimits)]
    return parts


def built_in() -> str:
    """Return the table of the built-in tools, as the model sees them."""
    tools = (*default_tools(), *NotePad().tools[1:], fetch_tool())
    rows = [
        (
            f"`{tool.name}`",
            ", ".join(f"`{name}`" for name in tool.parameters["properties"]),
            " ".join(tool.description.split()),
        )
        for tool in tools
    ]
    return table(("tool", "arguments", "description for the model"), rows)
