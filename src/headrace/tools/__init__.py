"""Tools: functions that a model may call, their arguments and what they return."""

from headrace.tools.context import InputDenied, ToolContext
from headrace.tools.external import ExternalTool
from headrace.tools.result import ToolReturn, to_tool_return, tool_error
from headrace.tools.tool import AnyTool, NeedsApproval, Tool, Toolset, tool

__all__ = [
    "AnyTool",
    "ExternalTool",
    "InputDenied",
    "NeedsApproval",
    "Tool",
    "ToolContext",
    "ToolReturn",
    "Toolset",
    "to_tool_return",
    "tool",
    "tool_error",
]
