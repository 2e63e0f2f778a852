"""Tools: functions that a model may call, what they are given, and what they give."""

from headrace.tools.context import ToolContext
from headrace.tools.result import ToolReturn, failure, tool_return
from headrace.tools.tool import Tool, Toolset, tool

__all__ = ["Tool", "ToolContext", "ToolReturn", "Toolset", "failure", "tool", "tool_return"]
