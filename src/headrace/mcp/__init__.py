"""Client of the Model Context Protocol: tools, prompts and resources of MCP servers.

The `mcp` package is imported when a connection is opened, not before.
"""

from headrace.mcp.auth.sign_in import SignIn
from headrace.mcp.change import ToolChange, ToolMemory
from headrace.mcp.limits import MCPLimits
from headrace.mcp.offer import Prompt, Resource
from headrace.mcp.source import MCP

__all__ = ["MCP", "MCPLimits", "Prompt", "Resource", "SignIn", "ToolChange", "ToolMemory"]
