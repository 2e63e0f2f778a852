"""`Toolset`: the tools of an agent, and those that servers list when a run starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

from headrace.encoders import ToolSpec
from headrace.encoders.provider_tool import ProviderTool, check_settings
from headrace.errors import UsageError
from headrace.tools.external import ExternalTool
from headrace.tools.source import PinnedTool, SourcedTool, ToolSource, name_tools
from headrace.tools.tool import Tool

AnyTool: TypeAlias = Tool | ExternalTool | ToolSpec | ProviderTool | ToolSource | Callable[..., Any]
"""What is accepted as a tool: a `Tool`, a plain function, an `ExternalTool`, the bare description
of a tool, a tool that the provider runs, such as `WebSearch()`, or a source of tools, such as
`MCP("python -m server")`."""


def _to_tool(tool: AnyTool) -> Tool | ExternalTool | ToolSpec:
    if isinstance(tool, type) and issubclass(tool, ProviderTool | ToolSource):
        raise UsageError(f"{tool.__name__} is a class: give an object, {tool.__name__}()")
    if isinstance(tool, Tool | ExternalTool | ToolSpec):
        return tool
    return Tool(cast("Callable[..., Any]", tool))


class Toolset:
    """The tools of an agent: those that are called by name, those that the provider runs, and the
    sources whose tools are not known yet. Raises `UsageError` for values that are no tools."""

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        if not isinstance(cast("object", tools), Iterable):
            raise UsageError(f"expected a list of tools; got {tools!r:.200}")
        given = list(tools)
        self.provider_tools = tuple(
            check_settings(entry) for entry in given if isinstance(entry, ProviderTool)
        )
        self.sources = tuple(entry for entry in given if isinstance(entry, ToolSource))
        others = (e for e in given if not isinstance(e, ProviderTool | ToolSource))
        entries = [_to_tool(entry) for entry in others]
        names = [entry.name for entry in entries]
        _check_unique("tools", names)
        _check_unique("MCP servers", [source.label for source in self.sources])
        self._tools = dict(zip(names, entries, strict=True))
        self.specs = tuple(e if isinstance(e, ToolSpec) else e.spec for e in entries)

    def get(self, name: str) -> Tool | ExternalTool | ToolSpec | None:
        """Return the tool with this name, or None."""
        return self._tools.get(name)

    @property
    def all(self) -> tuple[AnyTool, ...]:
        """All tools, those that the provider runs and the sources last."""
        return (*self._tools.values(), *self.provider_tools, *self.sources)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which the tools were given."""
        return tuple(self._tools)

    @property
    def pins(self) -> tuple[PinnedTool, ...]:
        """The tools that came from sources, as they were listed."""
        return tuple(t.pin for t in self._tools.values() if isinstance(t, SourcedTool))

    async def load(self, pins: Sequence[PinnedTool] | None = None) -> Toolset:
        """Return a toolset with the tools of all sources, which are asked at the same time.

        With `pins`, the tools are those that an earlier process has listed for the same run; a
        tool that its source has changed since then gives its calls an error result. A source that
        cannot be reached has no tools, unless it is required; then `ToolSourceFailed` is raised.
        """
        if not self.sources:
            return self
        if pins is None:
            lists = await asyncio.gather(*(source.list_tools() for source in self.sources))
            listed = name_tools(self.names, [tool for tools in lists for tool in tools])
        else:
            sources = {source.label: source for source in self.sources}
            listed = [sources[p.source].restore(p) for p in pins if p.source in sources]
        return Toolset([*self._tools.values(), *self.provider_tools, *listed])


def _check_unique(what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"two {what} are called {', '.join(twice)}")
