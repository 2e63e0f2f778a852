"""An MCP server that adds a tool when one is called, and tells its client:
`python changing_server.py legacy|modern`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp.server.lowlevel import NotificationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server

server = MCPServer("changing")
IS_LEGACY = sys.argv[1] == "legacy"


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool."""

    def added() -> str:
        """Is new."""
        return "new"

    server.add_tool(added)
    if IS_LEGACY:
        await ctx.session.send_tool_list_changed()
    else:
        await ctx.notify_tools_changed()
    return "grown"


async def main() -> None:
    lowlevel: Any = server._lowlevel_server
    async with stdio_server() as (read_stream, write_stream):
        options = lowlevel.create_initialization_options(NotificationOptions(tools_changed=True))
        await serve_loop(
            lowlevel, read_stream, write_stream, lifespan_state={}, init_options=options
        )


if IS_LEGACY:
    asyncio.run(main())
else:
    server.run("stdio")
