"""The Model Context Protocol: tools, prompts and resources of MCP servers, and those that a
Headrace server offers to MCP clients.

The `mcp` package is imported when a connection is opened, not before.
"""

from headrace.mcp.auth.sign_in import SignIn
from headrace.mcp.change import ToolChange, ToolMemory
from headrace.mcp.limits import MCPLimits
from headrace.mcp.offer import Prompt, Resource
from headrace.mcp.serving.client_context import list_client_roots, sample_client
from headrace.mcp.serving.offer import MCPOffer
from headrace.mcp.serving.prompt import MCPPrompt
from headrace.mcp.serving.resource import MCPResource
from headrace.mcp.source import MCP

__all__ = [
    "MCP",
    "MCPLimits",
    "MCPOffer",
    "MCPPrompt",
    "MCPResource",
    "Prompt",
    "Resource",
    "SignIn",
    "ToolChange",
    "ToolMemory",
    "list_client_roots",
    "sample_client",
]
