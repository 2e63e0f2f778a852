"""Tools that a provider runs itself, as they are asked for in a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from headrace.errors import UsageError
from headrace.events import JSONObject


class Location(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the user is, for search results nearby."""

    city: str | None = None
    region: str | None = None
    country: str | None = None
    """Two-letter code of the country."""
    timezone: str | None = None
    """Name of the time zone, such as `Europe/Oslo`."""


class WebSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Searches the web."""

    allowed_domains: tuple[str, ...] = ()
    """The only domains to search."""
    blocked_domains: tuple[str, ...] = ()
    """Domains to leave out."""
    max_uses: int | None = None
    """How many searches one turn may make."""
    location: Location | None = None
    """Where the user is."""
    context_size: Literal["low", "medium", "high"] | None = None
    """How much of the results the model reads."""


class WebFetch(msgspec.Struct, frozen=True, kw_only=True):
    """Reads web pages whose addresses are in the conversation."""

    allowed_domains: tuple[str, ...] = ()
    """The only domains to read from."""
    blocked_domains: tuple[str, ...] = ()
    """Domains not to read from."""
    max_uses: int | None = None
    """How many pages one turn may read."""


class CodeInterpreter(msgspec.Struct, frozen=True, kw_only=True):
    """Runs code that the model writes, in a container of the provider."""

    files: tuple[str, ...] = ()
    """Ids of files at the provider that the code can read."""


class FileSearch(msgspec.Struct, frozen=True):
    """Searches documents that are stored at the provider."""

    stores: tuple[str, ...]
    """Ids of the stores: vector stores of OpenAI, file search stores of Google, collections of
    xAI."""
    max_results: int | None = None
    """How many passages one search returns."""


class XSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Searches posts on X."""

    allowed_handles: tuple[str, ...] = ()
    """The only accounts to search."""
    excluded_handles: tuple[str, ...] = ()
    """Accounts to leave out."""
    from_date: str | None = None
    """First day, such as `2026-01-31`."""
    to_date: str | None = None
    """Last day."""


class MCPServer(msgspec.Struct, frozen=True):
    """Calls tools of an MCP server, which the provider connects to."""

    url: str
    """Address of the server."""
    name: str = "mcp"
    """Name of the server for the model."""
    allowed_tools: tuple[str, ...] = ()
    """The only tools that may be called."""
    authorization: str | None = None
    """Access token for the server. It is sent to the provider, and never shown or logged."""
    needs_approval: bool = False
    """Whether the provider asks before every call."""

    def __repr__(self) -> str:
        return f"MCPServer(name={self.name!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Hide the token in tracebacks that rich prints with local variables."""
        return [("name", self.name)]


class ImageGeneration(msgspec.Struct, frozen=True, kw_only=True):
    """Generates and edits images."""

    size: str | None = None
    """Width and height, such as `1024x1536`."""
    quality: str | None = None
    """`low`, `medium` or `high`, or what else the model knows."""
    background: Literal["transparent", "opaque", "auto"] | None = None
    format: Literal["png", "webp", "jpeg"] | None = None


ProviderTool: TypeAlias = (
    WebSearch | WebFetch | CodeInterpreter | FileSearch | XSearch | MCPServer | ImageGeneration
)
"""A tool that the provider runs itself."""

Encoders: TypeAlias = Mapping[type, Callable[[Any], JSONObject]]
"""For each class of tool that a provider has: the function that encodes it."""


def encode_provider_tool(tool: ProviderTool, encoders: Encoders, who: str) -> JSONObject:
    """Encode a tool. Raises `UsageError` if the provider does not have it."""
    encode = encoders.get(type(tool))
    if encode is None:
        raise refuse(tool, who)
    return encode(tool)


def check_settings(tool: ProviderTool) -> ProviderTool:
    """Return the tool with lists as tuples. Raises `UsageError` for a setting of a wrong type, such
    as one domain where several are expected."""
    kind = type(tool)
    try:
        checked = msgspec.convert(msgspec.structs.asdict(tool), kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"a setting of {kind.__name__} is wrong: {error}") from None
    if isinstance(checked, MCPServer) and not checked.url.startswith(("https://", "http://")):
        raise UsageError(
            f"the address of the MCP server {checked.name!r} is no URL: it must begin with https://"
        )
    return checked


def refuse(tool: ProviderTool, who: str) -> UsageError:
    """Return the error for a tool that the provider does not have."""
    return UsageError(f"{who} has no tool {type(tool).__name__}: leave it out")


def refuse_settings(tool: ProviderTool, who: str, *names: str) -> None:
    """Raise `UsageError` if one of these settings is given, because the provider does not have
    it."""
    given = [name for name in names if getattr(tool, name) not in (None, (), False)]
    if given:
        raise UsageError(
            f"{type(tool).__name__} of {who} has no setting {', '.join(map(repr, given))}:"
            " leave it out"
        )


def named_fields(**fields: Any) -> JSONObject:
    """Return the fields that are set, as JSON."""
    return {
        name: [*value] if type(value) is tuple else value
        for name, value in fields.items()
        if value not in (None, (), {})
    }


def encode_location(location: Location | None) -> JSONObject | None:
    """Encode a location as Anthropic and OpenAI want it."""
    if location is None:
        return None
    place: JSONObject = msgspec.to_builtins(location)
    return {"type": "approximate", **place}
