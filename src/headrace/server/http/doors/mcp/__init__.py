"""The Model Context Protocol: the agents of a server as tools, its conversations as resources.

The `mcp` package is imported with the first request, not before.
"""

from headrace.server.http.doors.mcp.route import MCPRoute

__all__ = ["MCPRoute"]
