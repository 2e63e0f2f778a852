"""Tools: functions that a model may call, their arguments and what they return."""

from headrace.tools.context import InputDenied, ToolContext
from headrace.tools.external import ExternalTool
from headrace.tools.result import ToolReturn, to_tool_return, tool_error
from headrace.tools.source import PinnedTool, SourcedTool, ToolSource, ToolSourceFailed
from headrace.tools.tool import NeedsApproval, Tool, tool
from headrace.tools.toolset import AnyTool, Toolset

__all__ = [
    "AnyTool",
    "ExternalTool",
    "InputDenied",
    "NeedsApproval",
    "PinnedTool",
    "SourcedTool",
    "Tool",
    "ToolContext",
    "ToolReturn",
    "ToolSource",
    "ToolSourceFailed",
    "Toolset",
    "to_tool_return",
    "tool",
    "tool_error",
]
