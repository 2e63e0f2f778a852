"""Prompts and resources of MCP servers in a chat."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.cli.terminal.safe_text import one_line, safe
from headrace.content import TextContent
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.mcp import MCP, Prompt, ToolChange

_NO_SERVERS = "There are no MCP servers: start the chat with --mcp, or with an agent that has some"


async def list_prompts(servers: Sequence[MCP]) -> list[tuple[str, str]]:
    """Return the prompts of all servers with their arguments and meanings."""
    rows: list[tuple[str, str]] = []
    for server in _require(servers):
        for prompt in await server.list_prompts():
            words = [f"{name}=…" for name in prompt.arguments]
            rows.append((one_line(" ".join([prompt.name, *words])), one_line(prompt.description)))
    return rows


async def fill_prompt(servers: Sequence[MCP], line: str) -> str:
    """Return the text of a prompt: `NAME key=value …`. A prompt with one argument takes the rest of
    the line. Raises `UsageError` if there is no such prompt, or an argument is missing."""
    name, _, rest = line.partition(" ")
    for server in _require(servers):
        for prompt in await server.list_prompts():
            if prompt.name == name:
                return await server.get_prompt(name, _read_arguments(prompt, rest.strip()))
    raise UsageError(f"there is no prompt {name!r:.100}: /prompts lists them")


def _read_arguments(prompt: Prompt, text: str) -> dict[str, str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = [text]
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    if len(prompt.arguments) == 1 and not pairs.keys() & set(prompt.arguments) and text:
        pairs = {prompt.arguments[0]: text}
    missing = [name for name in prompt.required if name not in pairs]
    if missing:
        raise UsageError(f"the prompt {prompt.name} needs {', '.join(missing)}: NAME=VALUE")
    return {name: value for name, value in pairs.items() if name in prompt.arguments}


async def list_resources(servers: Sequence[MCP]) -> list[tuple[str, str]]:
    """Return the resources of all servers with their meanings."""
    return [
        (one_line(resource.uri), one_line(resource.description or resource.name))
        for server in _require(servers)
        for resource in await server.list_resources()
    ]


async def read_resource(servers: Sequence[MCP], uri: str) -> str:
    """Return the text of a resource of any of the servers. Raises `UsageError` if none has it, or
    if it is not a text."""
    for server in _require(servers):
        if any(resource.uri == uri for resource in await server.list_resources()):
            content = await server.read_resource(uri)
            texts = [entry.text for entry in content if isinstance(entry, TextContent)]
            if not texts:
                raise UsageError("this resource is not a text")
            return "\n\n".join(texts)
    raise UsageError(f"there is no resource {uri!r:.200}: /resources lists them")


def format_change(change: ToolChange) -> str:
    """Return a warning that a server describes a tool differently than before."""
    return (
        f"The MCP server {change.server} has changed its tool {one_line(change.tool)} since it was"
        f" last used. Its description was: {safe(change.before)[:500]}\nIt is now:"
        f" {safe(change.after)[:500]}"
    )


def _require(servers: Sequence[MCP]) -> Sequence[MCP]:
    if not servers:
        raise UsageError(_NO_SERVERS)
    return servers
