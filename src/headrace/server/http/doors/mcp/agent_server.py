"""The MCP server of a service: it answers the requests of MCP clients, over any transport."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any, Final, cast

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.log import get_logger
from headrace.mcp import MCPOffer
from headrace.server.http.doors.mcp.agent_tool import answer_call, describe_agent
from headrace.server.http.doors.mcp.client_link import ANSWER_S, ClientLink
from headrace.server.http.doors.mcp.client_sessions import ClientSessions
from headrace.server.http.doors.mcp.held_calls import HeldCalls
from headrace.server.http.doors.mcp.offered import (
    describe_prompt,
    describe_resource,
    describe_template,
    no_resource,
    read_prompt,
    read_resource,
)
from headrace.server.http.doors.mcp.offered_tool import describe_tool, run_tool
from headrace.server.http.doors.mcp.tool_names import check_names, name_agents
from headrace.server.http.export.export import write_markdown
from headrace.server.http_error import HTTPError
from headrace.server.service import Service
from headrace.server.storage.access_tokens import User
from headrace.server.storage.store import Conversation, NotFound, PageCursor, Store

USER_KEY: Final = "headrace.user"
"""Where the scope of an HTTP request has its user."""
_PREFIX: Final = "headrace://conversations/"
_TEMPLATE: Final = f"{_PREFIX}{{id}}"
_PAGE: Final = 100
_MAX_RESOURCE_BYTES: Final = 4_000_000
_CUT: Final = b"\n\n[The conversation is longer; export it to read the rest.]\n"
_logger = get_logger("server")

UseService = Callable[[], AbstractAsyncContextManager[Service]]


def create_server(
    agents: Mapping[str, Agent],
    use: UseService,
    user: User | None = None,
    offer: MCPOffer | None = None,
    cleanup: ExitStack | None = None,
) -> Server[Any]:
    """Return an MCP server for agents, and the tools, prompts and resources of an offer. `use`
    gives the service for the time of a request. Without a user, the HTTP request must have one.
    When `cleanup` is closed, the calls that wait for their clients end. Raises `UsageError` if a
    tool has the name of an agent."""
    handlers = _Handlers(agents, use, user, offer or MCPOffer())
    if cleanup is not None:
        cleanup.callback(handlers.close)
    server: Server[Any] = Server(
        "headrace",
        version=version("headrace"),
        title="Headrace",
        description="Agents and tools, prompts, and conversations and other resources.",
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_subscribe_resource=handlers.subscribe,
        on_unsubscribe_resource=handlers.unsubscribe,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    # The argument of the constructor would warn that newer revisions have no levels.
    level: Any = handlers.set_level
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, level)
    # The calls that wait are in memory, so a key that other processes have would be of no use.
    security = RequestStateSecurity(
        keys=[os.urandom(32)], ttl=ANSWER_S, bind_principal=handlers.find_owner
    )
    server.middleware.append(_hide_errors)
    server.middleware.append(RequestStateBoundary(security, default_audience="headrace"))
    return server


async def _hide_errors(ctx: Any, call_next: Any) -> Any:
    """Answer a request, and log an error that is not meant for the client. With older revisions the
    package would send its text."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as error:
        _logger.exception("the MCP request %s failed: %s", ctx.method, type(error).__name__)
        raise MCPError(types.INTERNAL_ERROR, "the server has failed") from None


class _Handlers:
    def __init__(
        self, agents: Mapping[str, Agent], use: UseService, user: User | None, offer: MCPOffer
    ) -> None:
        self._agents = agents
        self._use = use
        self._user = user
        self._offer = offer
        self._names = name_agents(agents)
        check_names(agents, offer)
        self._calls = HeldCalls()
        self._sessions = ClientSessions()
        offer.listeners.append(self._sessions.notify)

    def close(self) -> None:
        """End the calls that wait for answers, and the notifications."""
        self._calls.close()
        self._offer.listeners.remove(self._sessions.notify)

    def find_owner(self, context: Any) -> str:
        """Return the id of the user to whom the state of a call is given."""
        return self._find_user(context).owner

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
        """List the agents and the tools."""
        self._find_user(context)
        agents = self._agents
        tools = [describe_agent(tool, name, agents[name]) for tool, name in self._names.items()]
        tools += [describe_tool(tool) for tool in self._offer.tools.values()]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run an agent or a tool."""
        user = self._find_user(context)
        name, arguments = self._names.get(params.name), params.arguments or {}
        tool = self._offer.tools.get(params.name)
        level = self._sessions.find_level(context)

        async def run(link: ClientLink) -> types.CallToolResult:
            if tool is not None:
                await self._count(user)
                return await run_tool(tool, arguments, link, level)
            assert name is not None
            async with self._open_service() as service:
                return await answer_call(service, user, name, arguments, link)

        if name is None and tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r:.100}")
        if params.request_state is not None:
            await self._count(user)
        result: Any = await self._calls.answer(user.owner, context, params, run)
        return cast("types.CallToolResult | types.InputRequiredResult", result)

    async def _count(self, user: User) -> None:
        """Count a request for the rate limit of its user. On standard input and output there is no
        limit, and the data folder is not needed."""
        if self._user is not None:
            return
        async with self._open_service() as service:
            try:
                service.quota.count_request(user.owner)
            except HTTPError as error:
                raise MCPError(types.INTERNAL_ERROR, error.message) from None

    async def list_resources(self, context: Any, params: Any) -> types.ListResourcesResult:
        """List the resources of the offer, then the conversations of the user, the most recently
        used first."""
        owner = self._find_user(context).owner
        cursor = None if params is None else params.cursor
        before = None if cursor is None else _read_cursor(cursor)
        async with self._open_service() as service:
            found = await service.store.conversations(owner, _PAGE + 1, before)
        page = found[:_PAGE]
        fixed = [r for r in self._offer.resources.values() if not r.is_template]
        first = [describe_resource(resource) for resource in fixed] if cursor is None else []
        return types.ListResourcesResult(
            resources=first + [_to_resource(conversation) for conversation in page],
            next_cursor=_write_cursor(page[-1]) if len(found) > _PAGE else None,
        )

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        """List how the URIs of resources are made."""
        own = [r for r in self._offer.resources.values() if r.is_template]
        template = types.ResourceTemplate(
            uri_template=_TEMPLATE,
            name="conversation",
            description="A conversation as Markdown.",
            mime_type="text/markdown",
        )
        templates = [template, *(describe_template(resource) for resource in own)]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a resource of the offer, or a conversation as Markdown."""
        user = self._find_user(context)
        owner = user.owner
        await self._count(user)
        if (found := self._offer.find_resource(params.uri)) is not None:
            with self._calls.count(owner):
                return await read_resource(*found, params.uri)
        conversation_id = params.uri.removeprefix(_PREFIX)
        try:
            if conversation_id == params.uri:
                raise NotFound
            async with self._open_service() as service:
                text = await _read_conversation(service.store, owner, conversation_id)
        except NotFound:
            raise no_resource(params.uri) from None
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def subscribe(self, context: Any, params: types.SubscribeRequestParams) -> Any:
        """Tell a client from now on when a resource of the offer has changed."""
        self._find_user(context)
        if self._offer.find_resource(params.uri) is None:
            raise no_resource(params.uri)
        self._sessions.subscribe(context, params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, context: Any, params: types.UnsubscribeRequestParams) -> Any:
        """End a subscription."""
        self._find_user(context)
        self._sessions.unsubscribe(context, params.uri)
        return types.EmptyResult()

    async def set_level(self, context: Any, params: types.SetLevelRequestParams) -> Any:
        """Set the least level of the log lines that a session gets."""
        self._find_user(context)
        self._sessions.set_level(context, params.level)
        return types.EmptyResult()

    async def list_prompts(self, context: Any, params: Any) -> types.ListPromptsResult:
        """List the prompts of the offer."""
        prompts = [describe_prompt(prompt) for prompt in self._offer.prompts.values()]
        return types.ListPromptsResult(prompts=prompts)

    async def get_prompt(
        self, context: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Return the messages of a prompt."""
        user = self._find_user(context)
        prompt = self._offer.prompts.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!r:.100}")

        async def read(link: ClientLink) -> types.GetPromptResult:
            return await read_prompt(prompt, params.arguments or {}, link)

        await self._count(user)
        result: Any = await self._calls.answer(user.owner, context, params, read)
        return cast("types.GetPromptResult | types.InputRequiredResult", result)

    async def complete(
        self, context: Any, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Complete the id of a conversation."""
        owner = self._find_user(context).owner
        values: list[str] = []
        ref = params.ref
        if isinstance(ref, types.ResourceTemplateReference) and ref.uri == _TEMPLATE:
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
