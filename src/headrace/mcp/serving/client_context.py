"""Requests of a tool to the MCP client that has called it: its model, and its folders."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.tools import InputDenied, ToolContext


class Client(Protocol):
    """The client of a call."""

    async def sample(self, prompt: str, max_tokens: int, key: str | None) -> str:
        """Return the answer of the client's model."""
        ...

    async def list_roots(self, key: str | None) -> list[str]:
        """Return the URIs of the client's folders."""
        ...


class ClientContext(ToolContext):
    """The context of a tool that an MCP client has called."""

    def __init__(self, client: Client, **options: Any) -> None:
        super().__init__(**options)
        self.client = client


async def sample_client(
    context: ToolContext, prompt: str, *, max_tokens: int = 1_000, key: str | None = None
) -> str:
    """Ask the model of the MCP client that has called the tool, and return its answer.

    The revision 2026-07-28 deprecates this; an agent has a model of its own. Raises `InputDenied`
    if the tool was not called by an MCP client, or if the client does not do it.
    """
    return await _find_client(context).sample(prompt, max_tokens, key)


async def list_client_roots(context: ToolContext, *, key: str | None = None) -> list[str]:
    """Return the URIs of the folders that the MCP client works in.

    The revision 2026-07-28 deprecates this. Raises `InputDenied` like `sample_client()`.
    """
    return await _find_client(context).list_roots(key)


def _find_client(context: ToolContext) -> Client:
    if not isinstance(context, ClientContext):
        raise InputDenied("the tool was not called by an MCP client")
    return context.client
