"""The client that the MCP conformance suite starts: Headrace's own, driven by the scenario.

`python client.py URL`, with the name of the scenario in `MCP_CONFORMANCE_SCENARIO`. It lists the
tools, calls each of them, and signs in where the server asks for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Sequence
from typing import Any
from urllib.request import urlopen

from headrace.events import JSONObject
from headrace.mcp import MCP, SignIn
from headrace.tools import SourcedTool, ToolContext

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
VALUES = {"string": "text", "number": 2, "integer": 2, "boolean": True, "array": [], "null": None}


def fill(schema: JSONObject) -> Any:
    """Return a value for a schema: its default, or one of its type."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: fill(part) for name, part in schema.get("properties", {}).items()}
    return VALUES[kind]


async def answer(_: str, schema: JSONObject | None, **__: Any) -> Any:
    """Answer a question as a user would who accepts the defaults."""
    return fill(schema or {})


def visit(url: str) -> None:
    """Sign in: the servers of the suite send the browser back at once."""
    with urlopen(url, timeout=10) as response:
        response.read()


def find_free_port() -> int:
    """Return a port that is free: the suite starts several clients at once."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def create_sign_in() -> SignIn:
    return SignIn(
        open=visit,
        port=find_free_port(),
        client_id=CONTEXT.get("client_id"),
        client_secret=CONTEXT.get("client_secret"),
        client_metadata_url="https://conformance-test.local/client-metadata.json",
        timeout_s=15,
    )


def choose_calls(tools: Sequence[SourcedTool]) -> list[tuple[str, JSONObject]]:
    """Return the calls that the scenario asks for, or one of each tool."""
    if "toolCalls" in CONTEXT:
        return [(one["name"], one["arguments"]) for one in CONTEXT["toolCalls"]]
    calls = [(tool.pin.own_name, fill(tool.parameters)) for tool in tools]
    if SCENARIO == "json-schema-2020-12-preservation":
        # The second tool is told the schema of the first one.
        calls = [(calls[1][0], {"schema": tools[0].parameters})]
    return calls


async def main(url: str) -> None:
    server = MCP(url, name="suite", sign_in=create_sign_in())
    tools = await server.list_tools()
    if server.error:
        sys.stderr.write(f"{server.error}\n")
    named = {tool.pin.own_name: tool for tool in tools}
    for name, arguments in choose_calls(tools):
        context = ToolContext(call_id="call", ask=answer)
        result = await named[name].execute(arguments, context)
        sys.stderr.write(f"{name}: {result}\n")
    await server.aclose()


asyncio.run(main(sys.argv[-1]))
