"""Sources of tools: servers that are asked for their tools when a run starts.

A run keeps the tools as they were listed when it began. The list is stored with the run, so that a
process that continues it offers the same tools to the model.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from headrace.errors import HeadraceError
from headrace.events import JSONObject
from headrace.tools.context import ToolContext
from headrace.tools.result import ToolReturn
from headrace.tools.schema_arguments import SchemaArguments
from headrace.tools.tool import Tool

MAX_NAME_CHARS: Final = 64
"""Most characters of a tool's name; no provider accepts more."""
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]+")

Call = Callable[[JSONObject, ToolContext], Awaitable[ToolReturn]]


class ToolSourceFailed(HeadraceError):
    """A source that an agent requires did not list its tools."""


class PinnedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its source has listed it."""

    source: str
    """Label of the source."""
    own_name: str
    """Name of the tool at its source."""
    name: str
    """Name that the model is told; it differs if another tool has the same name."""
    description: str
    parameters: JSONObject
    """JSON schema of the arguments."""
    fingerprint: str
    """Hash of everything that the source says about the tool."""


class SourcedTool(Tool):
    """A tool of a source. Its arguments are described by the schema of the source."""

    def __init__(self, pin: PinnedTool, call: Call, **options: Any) -> None:
        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolReturn:
            return await call(arguments, context)

        super().__init__(run, name=pin.name, description=pin.description, **options)
        self.pin = pin
        self.parameters = pin.parameters
        self._arguments = SchemaArguments(pin.parameters)
        self._call_source = call
        self._options = options

    def rename(self, name: str) -> SourcedTool:
        """Return the tool under another name."""
        pin = msgspec.structs.replace(self.pin, name=name)
        return SourcedTool(pin, self._call_source, **self._options)


class ToolSource(ABC):
    """Something that lists tools, such as an MCP server. It may be used from any event loop."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Name of the source, unique among those of an agent."""

    @abstractmethod
    async def list_tools(self) -> Sequence[SourcedTool]:
        """Return the tools, under their own names. Raises `ToolSourceFailed` if the source is
        required and cannot be reached."""

    @abstractmethod
    def restore(self, pin: PinnedTool) -> SourcedTool:
        """Return a tool as it was listed earlier. Its calls fail if the source has changed it."""

    @property
    @abstractmethod
    def known_names(self) -> tuple[str, ...]:
        """The own names of the tools that were listed last."""

    @abstractmethod
    def hold(self) -> None:
        """Keep the connection when an agent is closed."""

    @abstractmethod
    async def release(self) -> None:
        """Close the connection, unless somebody else holds it open. Called when an agent is
        closed."""


def name_tools(taken: Iterable[str], tools: Sequence[SourcedTool]) -> list[SourcedTool]:
    """Return the tools under names that differ from each other and from those that are taken.

    A name that is used twice gets the label of its source as a prefix, whatever the order is.
    Characters that providers do not accept are replaced.
    """
    used = set(taken)
    counts = Counter(_clean(tool.pin.own_name) for tool in tools)
    named: list[SourcedTool] = []
    for tool in tools:
        name = _clean(tool.pin.own_name)
        if counts[name] > 1 or name in used:
            name = _clean(f"{tool.pin.source}_{tool.pin.own_name}")
        if name in used:
            name = _shorten(name, f"{tool.pin.source}\0{tool.pin.own_name}")
        used.add(name)
        named.append(tool if name == tool.pin.name else tool.rename(name))
    return named


def _clean(name: str) -> str:
    clean = _NOT_ALLOWED.sub("_", name).strip("_") or "tool"
    return clean if len(clean) <= MAX_NAME_CHARS else _shorten(clean, name)


def _shorten(name: str, identity: str) -> str:
    """Cut a name and add a hash, which tells apart names that begin alike."""
    mark = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{name[: MAX_NAME_CHARS - 9]}_{mark}"
