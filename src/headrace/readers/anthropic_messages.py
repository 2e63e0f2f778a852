"""Reads requests of the Messages API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from headrace.encoders.cache_point import CacheSetting
from headrace.encoders.claude.thinking import find_effort
from headrace.encoders.provider_tool import (
    CodeInterpreter,
    Location,
    MCPServer,
    ProviderTool,
    WebFetch,
    WebSearch,
)
from headrace.encoders.request import Effort, Options, OutputSchema, Request, ToolSpec
from headrace.events import JSONObject
from headrace.messages.plain_content import find_cache_mark, to_blocks
from headrace.readers.body import convert_body, has_envelope, read_effort, read_history, refuse
from headrace.readers.incoming import IncomingRequest, InvalidRequest
from headrace.wire.json.value import as_int, as_list, as_object, as_objects, as_text

DIALECT = "anthropic"
# Anthropic's own default.
_DEFAULT_EFFORT: Effort = "high"


class MessagesRequest(IncomingRequest, frozen=True, kw_only=True):
    """A request of the Messages API."""


class _Body(msgspec.Struct, kw_only=True):
    """The fields that are understood."""

    model: str
    messages: list[JSONObject]
    max_tokens: int | None = None
    system: str | list[JSONObject] | None = None
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    metadata: JSONObject | None = None
    service_tier: str | None = None
    tools: list[JSONObject] | None = None
    tool_choice: JSONObject | None = None
    mcp_servers: list[JSONObject] | None = None
    thinking: JSONObject | None = None
    output_config: JSONObject | None = None
    output_format: JSONObject | None = None
    cache_control: JSONObject | None = None
    context_management: JSONObject | None = None


def read_request(body: JSONObject, *, counts_tokens: bool = False) -> MessagesRequest:
    """Read the body of `POST /v1/messages`, or with `counts_tokens` that of
    `POST /v1/messages/count_tokens`. Raises `InvalidRequest`."""
    fields, unknown = convert_body(body, _Body)
    if fields.max_tokens is None and not counts_tokens:
        raise InvalidRequest("max_tokens: Field required", "max_tokens")
    tools, provider_tools, foreign = _read_tools(fields)
    request = Request(
        model=fields.model,
        messages=tuple(read_history(fields.messages, DIALECT)),
        instructions=_read_system(fields.system),
        tools=tuple(tools),
        provider_tools=tuple(provider_tools),
        options=_read_options(fields, has_foreign_tools=bool(foreign)),
    )
    is_own = has_envelope(fields.messages)
    return MessagesRequest(
        request=request,
        is_stream=bool(fields.stream),
        dialect=None if is_own else DIALECT,
        body={} if is_own else body,
        same_grammar_only=next(iter(foreign), None),
        unknown=unknown,
    )


def _read_system(system: str | list[JSONObject] | None) -> str | None:
    if system is None or isinstance(system, str):
        return system or None
    texts = [as_text(block.get("text")) for block in system]
    if None in texts:
        raise InvalidRequest("system must be a text or a list of text blocks", "system")
    return "\n\n".join(text for text in texts if text) or None


# --- tools ------------------------------------------------------------------------


def _read_tools(
    fields: _Body,
) -> tuple[list[ToolSpec], list[ProviderTool], list[InvalidRequest]]:
    """Return the client's tools, those that a provider runs, and why other grammars do not have the
    rest of them."""
    tools: list[ToolSpec] = []
    provided: list[ProviderTool] = []
    foreign: list[InvalidRequest] = []
    servers = {as_text(server.get("name")): server for server in fields.mcp_servers or ()}
    for at, tool in enumerate(fields.tools or ()):
        kind, param = as_text(tool.get("type")) or "custom", f"tools[{at}]"
        if kind == "custom":
            tools.append(_read_tool(tool, param))
        else:
            found = _read_provider_tool(kind, tool, servers)
            if found is None:
                foreign.append(refuse(param, f"tools of type {kind!r:.40} are not known"))
            else:
                provided.append(found)
    used = {tool.name for tool in provided if isinstance(tool, MCPServer)}
    provided += [_read_server(s, {}) for name, s in servers.items() if name not in used]
    return tools, provided, foreign


def _read_tool(tool: JSONObject, param: str) -> ToolSpec:
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{param} needs a name", f"{param}.name")
    if not as_object(tool.get("input_schema")):
        raise InvalidRequest(f"{param} needs an input_schema", f"{param}.input_schema")
    return ToolSpec(
        name=name,
        description=as_text(tool.get("description")) or "",
        parameters=as_object(tool.get("input_schema")),
        is_strict=bool(tool.get("strict")),
    )


def _read_provider_tool(
    kind: str, tool: JSONObject, servers: dict[str | None, JSONObject]
) -> ProviderTool | None:
    """Return a tool that Anthropic runs, or None if no other provider has one like it.

    Tools of Anthropic's design that the client runs, such as `bash`, have no schema that another
    model could be told.
    """
    domains: JSONObject = {
        name: tuple(map(str, as_list(tool.get(name))))
        for name in ("allowed_domains", "blocked_domains")
    }
    if kind.startswith("web_search_"):
        place = as_object(tool.get("user_location"))
        known = {name: as_text(place.get(name)) for name in Location.__struct_fields__}
        return WebSearch(
            **domains,
            max_uses=as_int(tool.get("max_uses")),
            location=Location(**known) if place else None,
        )
    if kind.startswith("web_fetch_"):
        return WebFetch(**domains, max_uses=as_int(tool.get("max_uses")))
    if kind.startswith("code_execution_"):
        return CodeInterpreter()
    server = servers.get(as_text(tool.get("mcp_server_name")))
    if kind == "mcp_toolset" and server is not None:
        return _read_server(server, as_object(tool.get("configs")))
    return None


def _read_server(server: JSONObject, configs: JSONObject) -> MCPServer:
    enabled = tuple(name for name in configs if as_object(configs[name]).get("enabled"))
    return MCPServer(
        url=as_text(server.get("url")) or "",
        name=as_text(server.get("name")) or "mcp",
        allowed_tools=enabled,
        authorization=as_text(server.get("authorization_token")),
    )


def _read_tool_choice(choice: JSONObject | None) -> tuple[str | None, bool | None]:
    """Return the choice of a tool, and whether several calls may come in one turn."""
    if choice is None:
        return None, None
    disabled = choice.get("disable_parallel_tool_use")
    parallel = None if disabled is None else not disabled
    match choice.get("type"):
        case "auto" | "none" as word:
            return word, parallel
        case "any":
            return "required", parallel
        case "tool" if isinstance(choice.get("name"), str):
            return choice["name"], parallel
        case kind:
            raise InvalidRequest(f"tool_choice of type {kind!r:.40} is not known", "tool_choice")


# --- options ----------------------------------------------------------------------


def _read_options(fields: _Body, *, has_foreign_tools: bool) -> Options:
    choice, parallel = _read_tool_choice(fields.tool_choice)
    if has_foreign_tools and as_object(fields.tool_choice).get("type") == "tool":
        # The tool may be one that only Anthropic knows.
        choice = None
    user = (fields.metadata or {}).get("user_id")
    edits = {edit.get("type"): edit for edit in as_objects(_edits_of(fields))}
    tier = fields.service_tier
    return Options(
        max_tokens=fields.max_tokens,
        temperature=fields.temperature,
        top_p=fields.top_p,
        top_k=fields.top_k,
        stop=tuple(fields.stop_sequences or ()),
        user=as_text(user),
        service_tier=None if tier == "auto" else tier,
        tool_choice=choice,
        parallel_calls=parallel,
        effort=_read_effort(fields),
        output=_read_output(fields),
        cache=_find_cache(fields),
        compact_at=_trigger_of(edits.get("compact_20260112")),
        clear_tool_results_at=_trigger_of(edits.get("clear_tool_uses_20250919")),
    )


def _edits_of(fields: _Body) -> Any:
    return (fields.context_management or {}).get("edits")


def _trigger_of(edit: JSONObject | None) -> int | None:
    return as_int(as_object((edit or {}).get("trigger")).get("value"))


def _read_effort(fields: _Body) -> Effort | None:
    """Return how hard to think: by a word, or by the nearest word for a budget of tokens."""
    thinking = fields.thinking or {}
    word = (fields.output_config or {}).get("effort")
    if thinking.get("type") == "disabled":
        return "none"
    if word is not None:
        return read_effort(word, "output_config.effort")
    budget = as_int(thinking.get("budget_tokens"))
    if budget:
        return find_effort(budget)
    return _DEFAULT_EFFORT if thinking else None


def _read_output(fields: _Body) -> OutputSchema | None:
    asked = (fields.output_config or {}).get("format") or fields.output_format
    if asked is None:
        return None
    told = as_object(asked)
    if told.get("type") != "json_schema" or not as_object(told.get("schema")):
        raise InvalidRequest(
            "output_config.format must have the type json_schema and a schema",
            "output_config.format",
        )
    return OutputSchema(schema=as_object(told.get("schema")))


def _find_cache(fields: _Body) -> CacheSetting | None:
    """Return whether to cache. Marks in messages of the user stay where they are; any other mark
    means that the places are chosen."""
    marks = [mark for block in _marked_blocks(fields) if (mark := find_cache_mark(block))]
    if not marks:
        return None
    return next((mark.ttl for mark in marks if mark.ttl), None) or True


def _marked_blocks(fields: _Body) -> Iterator[Any]:
    """Yield the blocks that may have a mark, but for those of the user's own messages."""
    yield {"cache_control": fields.cache_control}
    yield from fields.tools or ()
    yield from to_blocks(fields.system)
    for message in fields.messages:
        is_user = message.get("role") == "user"
        for block in to_blocks(message.get("content")):
            if not is_user or block.get("type") == "tool_result":
                yield block
