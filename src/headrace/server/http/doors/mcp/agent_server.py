"""The MCP server of a service: it answers the requests of MCP clients, over any transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.server.http.doors.mcp.agent_tool import answer_call, describe_tool, name_agents
from headrace.server.http.export.export import write_markdown
from headrace.server.service import Service
from headrace.server.storage.access_tokens import User
from headrace.server.storage.store import Conversation, NotFound, PageCursor, Store

USER_KEY: Final = "headrace.user"
"""Where the scope of an HTTP request has its user."""
_PREFIX: Final = "headrace://conversations/"
_PAGE: Final = 100
_MAX_RESOURCE_BYTES: Final = 4_000_000
_CUT: Final = b"\n\n[The conversation is longer; export it to read the rest.]\n"


UseService = Callable[[], AbstractAsyncContextManager[Service]]


def create_server(
    agents: Mapping[str, Agent], use: UseService, user: User | None = None
) -> Server[Any]:
    """Return an MCP server. `use` gives the service for the time of a request. Without a user, the
    HTTP request must have one."""
    handlers = _Handlers(agents, use, user)
    return Server(
        "headrace",
        version=version("headrace"),
        title="Headrace",
        description="Agents as tools, and conversations as resources.",
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )


class _Handlers:
    def __init__(self, agents: Mapping[str, Agent], use: UseService, user: User | None) -> None:
        self._agents = agents
        self._use = use
        self._user = user
        self._names = name_agents(agents)

    def _find_user(self, context: Any) -> User:
        if self._user is not None:
            return self._user
        # A request without a user must never be taken for one of the local user.
        found: Any = None if context.request is None else context.request.scope.get(USER_KEY)
        if not isinstance(found, User):
            raise MCPError(types.INTERNAL_ERROR, "the user of the request is not known")
        return found

    @asynccontextmanager
    async def _open_service(self) -> AsyncGenerator[Service, None]:
        """Yield the service. The client is told why it cannot be opened."""
        async with AsyncExitStack() as stack:
            try:
                service = await stack.enter_async_context(self._use())
            except UsageError as error:
                raise MCPError(types.INTERNAL_ERROR, str(error)) from None
            yield service

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        """List the agents."""
        self._find_user(context)
        agents = self._agents
        tools = [describe_tool(tool, name, agents[name]) for tool, name in self._names.items()]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Run an agent."""
        user = self._find_user(context)
        name = self._names.get(params.name)
        if name is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r:.100}")
        report = context.session.report_progress
        async with self._open_service() as service:
            return await answer_call(service, user, name, params.arguments or {}, report)

    async def list_resources(self, context: Any, params: Any) -> types.ListResourcesResult:
        """List the conversations of the user, the most recently used first."""
        owner = self._find_user(context).owner
        cursor = None if params is None else params.cursor
        before = None if cursor is None else _read_cursor(cursor)
        async with self._open_service() as service:
            found = await service.store.conversations(owner, _PAGE + 1, before)
        page = found[:_PAGE]
        return types.ListResourcesResult(
            resources=[_to_resource(conversation) for conversation in page],
            next_cursor=_write_cursor(page[-1]) if len(found) > _PAGE else None,
        )

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        """Tell how the address of a conversation is made."""
        template = types.ResourceTemplate(
            uri_template=f"{_PREFIX}{{id}}",
            name="conversation",
            description="A conversation as Markdown.",
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a conversation as Markdown."""
        owner = self._find_user(context).owner
        conversation_id = params.uri.removeprefix(_PREFIX)
        try:
            if conversation_id == params.uri:
                raise NotFound
            async with self._open_service() as service:
                text = await _read_conversation(service.store, owner, conversation_id)
        except NotFound:
            why = "there is no resource with this URI"
            raise MCPError(types.INVALID_PARAMS, why, {"uri": params.uri}) from None
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, context: Any, params: Any) -> types.ListPromptsResult:
        """Tell that there are no prompts, to clients that ask without looking whether there are."""
        return types.ListPromptsResult(prompts=[])

    async def get_prompt(
        self, context: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Refuse: there are no prompts."""
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!r:.100}")

    async def complete(
        self, context: Any, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Complete the id of a conversation."""
        owner = self._find_user(context).owner
        values: list[str] = []
        if isinstance(params.ref, types.ResourceTemplateReference):
            async with self._open_service() as service:
                found = await service.store.conversations(owner, _PAGE)
            start = params.argument.value
            values = [one.id for one in found if one.id.startswith(start)]
        return types.CompleteResult(completion=types.Completion(values=values, has_more=False))


async def _read_conversation(store: Store, owner: str, conversation_id: str) -> str:
    conversation = await store.conversation(owner, conversation_id)
    text = bytearray()
    async for piece in write_markdown(store, owner, conversation):
        text += piece
        if len(text) > _MAX_RESOURCE_BYTES:
            del text[_MAX_RESOURCE_BYTES:]
            text += _CUT
            break
    return text.decode("utf-8", "ignore")


def _to_resource(conversation: Conversation) -> types.Resource:
    return types.Resource(
        uri=f"{_PREFIX}{conversation.id}",
        name=conversation.title or conversation.id,
        mime_type="text/markdown",
    )


def _write_cursor(last: Conversation) -> str:
    return f"{last.updated_ms}.{last.id}"


def _read_cursor(cursor: str) -> PageCursor:
    time, _, conversation_id = cursor.partition(".")
    if not time.isascii() or not time.isdigit() or len(time) > 18 or not conversation_id:
        raise MCPError(types.INVALID_PARAMS, "this cursor is not one of this server")
    return PageCursor(int(time), conversation_id)
