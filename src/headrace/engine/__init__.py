"""The engine: agents, runs, tools, middleware, conversations."""

from headrace.engine.agent import Agent
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.middleware import Allow, Deny, Middleware, RunView, ToolCall
from headrace.engine.run import Result, Run
from headrace.engine.terminate import Terminate
from headrace.engine.tools import Tool, ToolContext, ToolReturn, tool

__all__ = [
    "Agent",
    "Allow",
    "Deny",
    "Middleware",
    "Result",
    "Run",
    "RunLimits",
    "RunView",
    "Terminate",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolReturn",
    "tool",
]
