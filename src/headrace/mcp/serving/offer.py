"""`MCPOffer`: the tools, prompts and resources of a server for MCP clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from headrace.errors import UsageError
from headrace.mcp.serving.prompt import MCPPrompt
from headrace.mcp.serving.resource import MCPResource
from headrace.tools import AnyTool, Tool, Toolset

_MAX_URI_CHARS: Final = 2_000


class MCPOffer:
    """Tools, prompts and resources that MCP clients can use directly, without asking a model.

    Every client may use them. Raises `UsageError` if two of them have the same name or URI, and for
    a tool that is no Python function.
    """

    def __init__(
        self,
        *,
        tools: Iterable[AnyTool] = (),
        prompts: Iterable[MCPPrompt | Callable[..., object]] = (),
        resources: Iterable[MCPResource] = (),
    ) -> None:
        self.tools: dict[str, Tool] = {}
        for entry in Toolset(tools).all:
            if not isinstance(entry, Tool):
                raise UsageError(f"MCP clients can be offered functions only; got {entry!r:.200}")
            self.tools[entry.name] = entry
        given = [one if isinstance(one, MCPPrompt) else MCPPrompt(one) for one in prompts]
        self.prompts = {prompt.name: prompt for prompt in given}
        found = list(resources)
        self.resources = {resource.uri: resource for resource in found}
        if len(self.prompts) < len(given) or len(self.resources) < len(found):
            raise UsageError("two prompts have the same name, or two resources the same URI")
        self.listeners: list[Callable[[str], None]] = []
        """Called with the URI of a resource that has changed. Servers add themselves here."""

    def notify_changed(self, uri: str) -> None:
        """Tell the clients that have subscribed to a resource that it has changed. May be called
        from any thread."""
        for listener in list(self.listeners):
            listener(uri)

    def find_resource(self, uri: str) -> tuple[MCPResource, dict[str, str]] | None:
        """Return the resource with this URI and the values of its variables, or None."""
        if len(uri) > _MAX_URI_CHARS:
            return None
        exact = self.resources.get(uri)
        if exact is not None and not exact.is_template:
            return exact, {}
        for resource in self.resources.values():
            values = resource.match(uri)
            if values is not None:
                return resource, values
        return None
