"""Prompts and resources that a server offers to MCP clients."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from headrace.errors import Terminate
from headrace.log import get_logger
from headrace.mcp.serving.client_context import ClientContext
from headrace.mcp.serving.prompt import MCPPrompt, PromptFailed
from headrace.mcp.serving.resource import MCPResource, TooManyReads
from headrace.server.http.doors.mcp.client_link import ClientLink
from headrace.server.http.doors.mcp.content import to_blocks, to_contents
from headrace.server.http.doors.mcp.offered_tool import refuse_for, run_in_time

_READ_S: Final = 60.0
_logger = get_logger("server")


def describe_prompt(prompt: MCPPrompt) -> types.Prompt:
    """Return the description of a prompt for MCP clients."""
    arguments = [
        types.PromptArgument(name=a.name, description=a.description, required=a.is_required)
        for a in prompt.arguments
    ]
    return types.Prompt(name=prompt.name, description=prompt.description, arguments=arguments)


async def read_prompt(
    prompt: MCPPrompt, arguments: Mapping[str, str], link: ClientLink
) -> types.GetPromptResult:
    """Return the messages of a prompt. Raises `MCPError` if its function fails."""
    context = ClientContext(link, name=prompt.name, ask=link.ask)
    try:
        content = await run_in_time(prompt.read(arguments, context), link)
    except TimeoutError:
        raise MCPError(types.INTERNAL_ERROR, "the prompt took too long") from None
    except Terminate as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None
    except PromptFailed as error:
        if link.missing and not link.is_live:
            refuse_for(link.missing)
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    messages = [types.PromptMessage(role="user", content=block) for block in to_blocks(content)]
    return types.GetPromptResult(description=prompt.description, messages=messages)


def describe_resource(resource: MCPResource) -> types.Resource:
    """Return the description of a resource for MCP clients."""
    return types.Resource(
        uri=resource.uri,
        name=resource.name,
        description=resource.description,
        mime_type=resource.media_type,
    )


def describe_template(resource: MCPResource) -> types.ResourceTemplate:
    """Return the description of a resource whose URI has variables."""
    return types.ResourceTemplate(
        uri_template=resource.uri,
        name=resource.name,
        description=resource.description,
        mime_type=resource.media_type,
    )


async def read_resource(
    resource: MCPResource, values: dict[str, str], uri: str
) -> types.ReadResourceResult:
    """Read a resource. Raises `MCPError` if there is none, or its function fails."""
    try:
        async with asyncio.timeout(_READ_S):
            content = await resource.read(values)
    except TimeoutError:
        raise MCPError(types.INTERNAL_ERROR, "the resource took too long") from None
    except LookupError:
        raise no_resource(uri) from None
    except TooManyReads as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None
    except Exception:  # the function is the user's, and its error may have secrets
        _logger.exception("the resource %s cannot be read", resource.uri)
        raise MCPError(types.INTERNAL_ERROR, "the resource cannot be read") from None
    return types.ReadResourceResult(contents=[to_contents(uri, resource.media_type, content)])


def no_resource(uri: str) -> MCPError:
    """Return the error for a URI that is none of this server."""
    why = "there is no resource with this URI"
    return MCPError(types.INVALID_PARAMS, why, {"uri": uri})
