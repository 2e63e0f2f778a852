"""The Model Context Protocol: agents and an `MCPOffer` for MCP clients, conversations as resources.

The `mcp` package is imported with the first request, not before.
"""

from headrace.server.http.doors.mcp.route import MCPRoute

__all__ = ["MCPRoute"]
