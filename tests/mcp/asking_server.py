"""An MCP server whose tool asks the user: `python asking_server.py legacy|modern`.

Legacy: the question is a request in the middle of the call (revision 2025-11-25). Modern: the call
ends, and comes again with the answer (revision 2026-07-28).
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"seats": {"type": "integer", "title": "Seats"}},
    "required": ["seats"],
}
PARAMS = types.ElicitRequestFormParams(message="How many seats?", requested_schema=SCHEMA)


def _book(answer: types.ElicitResult) -> types.CallToolResult:
    seats = (answer.content or {}).get("seats")
    text = f"{seats} seats" if answer.action == "accept" else f"no seats: {answer.action}"
    return types.CallToolResult(content=[types.TextContent(text=text)])


def note(word: str) -> None:
    """Write down that the tool was called, if a file is given."""
    if sys.argv[2:]:
        with Path(sys.argv[2]).open("a") as file:
            file.write(f"{word} ")


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    tool = types.Tool(name="book", description="Books.", input_schema={"type": "object"})
    return types.ListToolsResult(tools=[tool])


async def call_modern(context: Any, params: types.CallToolRequestParams) -> Any:
    note("answered" if params.input_responses else "asked")
    if params.input_responses:
        assert params.request_state == "state-1"
        answer = params.input_responses["seats"]
        assert isinstance(answer, types.ElicitResult)
        return _book(answer)
    return types.InputRequiredResult(
        input_requests={"seats": types.ElicitRequest(params=PARAMS)}, request_state="state-1"
    )


_here: list[asyncio.Event] = []


async def meet() -> None:
    """Wait until two calls are open, so that both are when the questions are asked."""
    _here.append(asyncio.Event())
    if len(_here) == 2:
        for event in _here:
            event.set()
    await _here[0].wait()


async def call_legacy(context: Any, params: types.CallToolRequestParams) -> Any:
    if sys.argv[2:]:
        await meet()
    return _book(await context.session.elicit_form("How many seats?", SCHEMA))


async def main() -> None:
    is_modern = sys.argv[1] == "modern"
    server: Server[Any] = Server(
        "asking", on_list_tools=list_tools, on_call_tool=call_modern if is_modern else call_legacy
    )
    async with stdio_server() as (read_stream, write_stream):
        if is_modern:
            await server.run(read_stream, write_stream, server.create_initialization_options())
        else:
            # It knows the revisions with a handshake only.
            await serve_loop(server, read_stream, write_stream, lifespan_state={})


asyncio.run(main())
