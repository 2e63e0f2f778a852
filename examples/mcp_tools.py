"""Give an agent the tools of an MCP server. The server of this example is this file itself."""

import asyncio
import os
import sys

from mcp.server.mcpserver import Context, MCPServer

from headrace import MCP, Agent
from headrace import events as ev


def serve() -> None:
    """The server: any program that speaks MCP would do."""
    server = MCPServer("library")

    @server.tool()
    async def count_books(shelf: str, ctx: Context) -> dict[str, int]:
        """Count the books on a shelf of the library."""
        await ctx.report_progress(1, 2, f"walking to {shelf}")
        await ctx.report_progress(2, 2, "counting")
        return {shelf: 12 * len(shelf)}

    server.run("stdio")


async def main() -> None:
    """The agent: it lists the tools, and the model calls one."""
    library = MCP([sys.executable, __file__, "serve"], name="library")
    agent = Agent(os.environ.get("HEADRACE_MODEL", "rehearsal:demo"), tools=[library])
    async with agent.run('How many books are on "Rivers"?') as run:
        async for event in run:
            match event:
                case ev.ToolStarted(args=args):
                    print("called with", args)
                case ev.ToolProgress(status=status, progress=progress):
                    print(f"  {progress:.0%} {status}")
                case ev.ToolResult(content=content):
                    for part in content:
                        print(part)
                case _:
                    pass
    print(run.result.finish)
    await agent.aclose()


if sys.argv[1:] == ["serve"]:
    serve()
else:
    asyncio.run(main())
