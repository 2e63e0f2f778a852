"""`MCPLimits`: what an MCP server may cost."""

from __future__ import annotations

import msgspec

from headrace.errors import UsageError


class MCPLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a connection to an MCP server. What goes past one fails its call, and a server
    that goes on is disconnected."""

    connect_s: float = 30.0
    """Time to start the server and to agree on a revision of the protocol."""
    list_s: float = 15.0
    """Time to list all tools, prompts or resources."""
    read_s: float = 60.0
    """Time to read a prompt or a resource."""
    elicitation_s: float = 300.0
    """Time for an answer to a question of a server that has to be connected meanwhile."""
    max_message_bytes: int = 16 * 1024 * 1024
    """Largest message of a server."""
    max_messages: int = 10_000
    """Most messages of a server in ten seconds. To read so many takes a few seconds of a core."""
    max_tools: int = 256
    """Most tools of a server; the others are left out, which is logged."""
    max_pages: int = 64
    """Most pages of a list."""
    max_description_chars: int = 8_192
    """Longest description of a tool; the rest is cut."""
    max_schema_bytes: int = 131_072
    """Largest schema of a tool; a tool with a larger one is left out."""
    max_list_bytes: int = 2 * 1024 * 1024
    """Most bytes of the names, descriptions and schemas of all tools; the others are left out."""
    max_pause_s: float = 60.0
    """Longest pause before a server that failed is started again."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be more than 0; got {getattr(self, name)}")


DEFAULT_MCP_LIMITS = MCPLimits()
