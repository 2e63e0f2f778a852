"""The names under which MCP clients see agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.mcp import MCPOffer

_MAX_NAME_CHARS: Final = 64
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_.-]+")


def name_agents(agents: Mapping[str, Agent]) -> dict[str, str]:
    """Return the names of agents by the names of their tools. Names that would be the same are
    numbered."""
    names: dict[str, str] = {}
    for name in agents:
        clean = "ask" if name == "default" else _NOT_ALLOWED.sub("_", name)[:_MAX_NAME_CHARS]
        tool, number = clean, 1
        while tool in names:
            number += 1
            tool = f"{clean[: _MAX_NAME_CHARS - 8]}_{number}"
        names[tool] = name
    return names


def check_names(agents: Mapping[str, Agent], offer: MCPOffer) -> None:
    """Raise `UsageError` if a tool of the offer has the name of an agent."""
    if twice := name_agents(agents).keys() & offer.tools.keys():
        raise UsageError(f"a tool has the name of an agent: {', '.join(sorted(twice))}")
