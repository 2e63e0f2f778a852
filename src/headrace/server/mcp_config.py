"""MCP servers of an agent file, and of the option `--mcp`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from headrace.errors import UsageError
from headrace.mcp import MCP, ToolMemory

MEMORY_FILE: Final = "mcp-tools.json"
"""File of the data folder with the descriptions of all tools that were seen."""
_TOKEN_VARIABLE: Final = "HEADRACE_MCP_NAME_TOKEN"
_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,31})=(.+)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class MCPEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table `[mcp.NAME]` of an agent file. `${NAME}` in headers and environment is replaced by an
    environment variable, so that the file need not contain secrets."""

    command: str | tuple[str, ...] | None = None
    """The command that starts the server; it is not run by a shell."""
    url: str | None = None
    """The address of a server that speaks Streamable HTTP."""
    headers: dict[str, str] = {}
    """Headers of every request to the URL."""
    env: dict[str, str] = {}
    """Environment variables of the command, beside `PATH`, `HOME` and the like."""
    cwd: str | None = None
    """Working directory of the command."""
    only: tuple[str, ...] | None = None
    """Names of the tools that are offered; all by default."""
    needs_approval: bool = False
    """Whether a person is asked before each call."""
    is_required: bool = False
    """Whether no question is answered while the server cannot be reached."""
    is_trusted: bool = False
    """Whether results are given to the model without a note that they come from outside."""
    timeout_s: float | None = None
    """Most seconds of a call."""

    def __repr__(self) -> str:
        """Return a text without command, URL, headers and environment, which may hold secrets."""
        return f"MCPEntry({'command' if self.url is None else 'url'})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Hide secrets in tracebacks that rich prints with local variables."""
        return [("kind", "command" if self.url is None else "url")]


def remember_tools(data: Path) -> dict[str, Any]:
    """Return the arguments of `MCP` that keep the descriptions of tools in a data folder, so that
    a change is noticed."""
    return {"memory": ToolMemory(data / MEMORY_FILE)}


def build_entry(name: str, entry: MCPEntry, options: Mapping[str, Any]) -> MCP:
    """Return the server of a table. Raises `UsageError`."""
    server = entry.command if entry.url is None else entry.url
    if server is None or (entry.url is not None and entry.command is not None):
        raise UsageError(f"[mcp.{name}]: expected either command or url")
    fields = msgspec.structs.asdict(entry)
    del fields["command"], fields["url"]
    fields["headers"] = _insert_variables(name, entry.headers)
    fields["env"] = _insert_variables(name, entry.env)
    try:
        return MCP(server, name=name, **fields, **options)
    except UsageError as error:
        raise UsageError(f"[mcp.{name}]: {error}") from None


def read_option(text: str, options: Mapping[str, Any]) -> MCP:
    """Return the server of an option: `COMMAND`, `URL`, `NAME=COMMAND` or `NAME=URL`.

    The access token of a URL is taken from the variable `HEADRACE_MCP_NAME_TOKEN`, with the name
    in capitals and `_` for `-`. Raises `UsageError`.
    """
    named = _NAMED.fullmatch(text.strip())
    name, server = (None, text) if named is None else (named[1], named[2])
    source = MCP(server, name=name, **options)
    variable = _TOKEN_VARIABLE.replace("NAME", source.label.upper().replace("-", "_"))
    token = os.environ.get(variable)
    if token and re.match(r"https?://", server, re.IGNORECASE):
        headers = {"Authorization": f"Bearer {token}"}
        source = MCP(server, name=name, headers=headers, **options)
    return source


def _insert_variables(name: str, values: Mapping[str, str]) -> dict[str, str]:
    def find(match: re.Match[str]) -> str:
        value = os.environ.get(match[1])
        if value is None:
            raise UsageError(f"[mcp.{name}]: the environment variable {match[1]} is not set")
        return value

    return {key: _VARIABLE.sub(find, value) for key, value in values.items()}
