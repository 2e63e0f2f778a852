"""An MCP server for the tests, made with the official package."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp_types import ResourceLink, TextContent
from pydantic import BaseModel, Field

# One transparent pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)

server = MCPServer("demo", instructions="A demo.")


class Sum(BaseModel):
    """A sum with its terms."""

    terms: list[int]
    total: int


@server.tool()
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(terms=[a, b], total=a + b)


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Count, and report each number."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
    return "counted"


@server.tool()
async def wait(note: str) -> str:
    """Wait for a long time; the file says whether the call was cancelled."""
    try:
        Path(note).write_text("waiting")
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        Path(note).write_text("cancelled")
        raise
    return "late"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("it broke")


@server.tool(structured_output=False)
def show() -> list[object]:
    """Return content of all kinds."""
    return [
        TextContent(type="text", text="words"),
        Image(data=PIXEL, format="png"),
        Audio(data=b"RIFF", format="wav"),
        ResourceLink(type="resource_link", uri="demo://leaf", name="leaf", description="A leaf."),
    ]


@server.tool()
def die() -> str:
    """End the process."""
    os._exit(3)


@server.tool()
def get_environment(variable: str) -> str:
    """Return an environment variable."""
    return os.environ.get(variable, "unset")


@server.tool()
def repeat(text: str, times: Annotated[int, Field(ge=0)]) -> str:
    """Repeat a text."""
    return text * times


@server.resource("demo://leaf")
def leaf() -> str:
    """A leaf."""
    return "green"


@server.prompt()
def review(code: str) -> str:
    """Ask for a review."""
    return f"Please review: {code}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
