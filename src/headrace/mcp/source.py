"""`MCP`: a server of the Model Context Protocol as a source of tools."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, Self, TypeVar

from msgspec.structs import replace

from headrace.content import Content
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.log import get_logger
from headrace.mcp.address import clean_label, derive_label, read_address
from headrace.mcp.auth.sign_in import SignIn
from headrace.mcp.call import call_tool
from headrace.mcp.change import ToolChange, ToolMemory, find_changes
from headrace.mcp.connection import ConnectionFailed
from headrace.mcp.limits import DEFAULT_MCP_LIMITS, MCPLimits
from headrace.mcp.link import Link
from headrace.mcp.loop import run_on_loop
from headrace.mcp.offer import Prompt, Resource, get_prompt, list_prompts, list_resources, read
from headrace.mcp.question import Question
from headrace.mcp.result import to_result
from headrace.mcp.tool_list import ListedTool
from headrace.tools import (
    NeedsApproval,
    PinnedTool,
    SourcedTool,
    ToolContext,
    ToolReturn,
    ToolSource,
    ToolSourceFailed,
    tool_error,
)

T = TypeVar("T")
_PATIENCE_S: Final = 3.0
_logger = get_logger("mcp")


class MCP(ToolSource):
    """The tools of an MCP server, for `Agent(tools=[…])`.

    `server` is a command line, a list with a program and its arguments, or the URL of a server
    that speaks Streamable HTTP. `headers` are sent to a URL; `env` and `cwd` are for a command,
    which gets no other variables of this process than `PATH`, `HOME` and the like.

    The connection is opened when a run first needs it, shared by all runs of the process, and
    opened again after a failure; close it with `aclose()` or `async with`. `only` names the tools
    that are offered. With `needs_approval`, a person is asked before each call, as with `Tool`.
    A server that cannot be reached when a run starts has no tools in that run; with `is_required`
    the run fails instead. With `sign_in`, a user can sign in where the server asks for it.
    Results of a server that is not `is_trusted` begin with a note for the
    model that they come from outside. `on_change` is called when a tool is described differently
    than in an earlier run; with `memory`, that is also noticed after a restart.
    Raises `UsageError` for an address that cannot be used, and if the extra `mcp` is missing.
    """

    def __init__(  # noqa: PLR0913 (the options of a server)
        self,
        server: str | Sequence[str],
        *,
        name: str | None = None,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        only: Collection[str] | None = None,
        needs_approval: NeedsApproval = False,
        timeout_s: float | None = None,
        is_required: bool = False,
        is_trusted: bool = False,
        sign_in: SignIn | None = None,
        limits: MCPLimits = DEFAULT_MCP_LIMITS,
        on_change: Callable[[ToolChange], None] | None = None,
        memory: ToolMemory | None = None,
    ) -> None:
        if importlib.util.find_spec("mcp") is None:
            raise UsageError("MCP servers need an extra: pip install 'headrace[mcp]'")
        address = read_address(server, headers, env, cwd)
        self._label = derive_label(address) if name is None else clean_label(name)
        self._what = address.describe()
        self._only = None if only is None else frozenset(only)
        self._options: dict[str, Any] = {"timeout_s": timeout_s, "needs_approval": needs_approval}
        self._is_required = is_required
        self._is_trusted = is_trusted
        self._on_change = on_change
        self._memory = memory or ToolMemory()
        create_auth = None
        if sign_in is not None:
            if address.url is None:
                raise UsageError("sign_in is for MCP servers with a URL")
            create_auth = partial(sign_in.create_auth, address.url)
            limits = replace(limits, connect_s=limits.connect_s + sign_in.timeout_s)
        self._link = Link(self._label, address, limits, create_auth=create_auth)
        self._holders = 0
        self._known_names: tuple[str, ...] = ()
        self.error: str | None = None
        """Why the server could not be reached when a run last asked for its tools, or None."""

    def __repr__(self) -> str:
        return f"MCP({self._label!r})"

    @property
    def label(self) -> str:
        """Name of the server, which is the prefix of its tools if names collide."""
        return self._label

    @property
    def known_names(self) -> tuple[str, ...]:
        """The names of the tools that the server has listed last."""
        return self._known_names

    async def __aenter__(self) -> Self:
        """Open the connection, and hold it open until the block is left."""
        await self.connect()
        self._holders += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._holders -= 1
        await self.release()

    async def connect(self) -> None:
        """Open the connection now. Raises `ToolSourceFailed` if that is not possible."""
        try:
            await run_on_loop(self._link.connect())
        except ConnectionFailed as error:
            raise ToolSourceFailed(self._explain(error)) from None

    def hold(self) -> None:
        """Keep the connection when an agent is closed; it is closed at the end of the process."""
        self._holders += 1

    async def release(self) -> None:
        """Close the connection, unless the server is used with `async with` elsewhere."""
        if self._holders == 0:
            await self.aclose()

    async def aclose(self) -> None:
        """Close the connection, and stop the server if it was started by a command."""
        await run_on_loop(self._link.close())

    def _explain(self, error: Exception) -> str:
        return f"the MCP server {self._label} ({self._what}) failed: {error}"

    # -- tools

    async def list_tools(self) -> Sequence[SourcedTool]:
        """Return the tools of the server. See the class about servers that cannot be reached."""
        try:
            listed = await self._list()
        except ConnectionFailed as error:
            self.error = self._explain(error)
            if self._is_required:
                raise ToolSourceFailed(self.error) from None
            return []
        self.error = None
        self._tell_changes(listed)
        chosen = [t for t in listed.values() if self._only is None or t.name in self._only]
        self._known_names = tuple(tool.name for tool in chosen)
        return [self._create_tool(tool) for tool in chosen]

    async def _list(self) -> dict[str, ListedTool]:
        # Not every run can wait for a server that has failed before: it is tried in the background.
        patience_s = _PATIENCE_S if self._link.has_failed else None
        try:
            async with asyncio.timeout(patience_s):
                return await run_on_loop(self._link.list_tools())
        except TimeoutError:
            raise ConnectionFailed("it does not answer") from None

    def _create_tool(self, tool: ListedTool) -> SourcedTool:
        pin = PinnedTool(
            source=self._label,
            own_name=tool.name,
            # The name for the model is chosen when those of all tools are known.
            name="tool",
            description=tool.description,
            parameters=tool.parameters,
            fingerprint=tool.fingerprint,
        )
        # What an untrusted server says about itself decides nothing.
        is_idempotent = self._is_trusted and (tool.is_idempotent or tool.is_read_only)
        return self.restore(pin, is_idempotent=is_idempotent)

    def restore(self, pin: PinnedTool, *, is_idempotent: bool = False) -> SourcedTool:
        """Return a tool as it was listed earlier. Its calls fail if the server has changed it."""

        async def call(arguments: JSONObject, context: ToolContext) -> ToolReturn:
            return await self._call(pin, arguments, context)

        return SourcedTool(pin, call, is_idempotent=is_idempotent, **self._options)

    async def _call(
        self, pin: PinnedTool, arguments: JSONObject, context: ToolContext
    ) -> ToolReturn:
        question = Question(self._label, context, asyncio.get_running_loop())
        work = call_tool(self._link, pin.own_name, pin.fingerprint, arguments, question, context)
        try:
            result = await run_on_loop(work)
        except ConnectionFailed as error:
            return tool_error(f"The MCP server {self._label} failed: {error}")
        return to_result(result, self._label, is_trusted=self._is_trusted)

    def _tell_changes(self, listed: Mapping[str, ListedTool]) -> None:
        for change in find_changes(self._label, self._memory, listed.values()):
            fields = {"event": "mcp_tool_changed", "server": self._label}
            _logger.warning("the MCP server %s describes a tool anew", self._label, extra=fields)
            if self._on_change is not None:
                self._on_change(change)

    # -- prompts and resources

    async def list_prompts(self) -> list[Prompt]:
        """Return the prompts that the server offers. Raises `ToolSourceFailed`."""
        return await self._ask(list_prompts(self._link))

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> str:
        """Return the text of a prompt. Raises `ToolSourceFailed`."""
        return await self._ask(get_prompt(self._link, name, arguments or {}))

    async def list_resources(self) -> list[Resource]:
        """Return the resources that the server offers. Raises `ToolSourceFailed`."""
        return await self._ask(list_resources(self._link))

    async def read_resource(self, uri: str) -> list[Content]:
        """Return what a resource contains. Raises `ToolSourceFailed`."""
        return await self._ask(read(self._link, uri))

    async def _ask(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await run_on_loop(work)
        except ConnectionFailed as error:
            raise ToolSourceFailed(self._explain(error)) from None
