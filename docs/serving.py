"""The reference pages of the server and its client: settings, HTTP API, Python client."""

from __future__ import annotations

import argparse
import ast
import inspect
from typing import Any

import msgspec

from docs import meaning
from docs.api_error import MEANINGS, APIError, api_errors
from docs.outline import default, field_docs, field_types, function, interface, struct, table
from docs.syntax_tree import parse_source
from headrace.cli.commands.serve import application as serve
from headrace.cli.parser import build_parser
from headrace.client import Answer, AsyncAnswer, AsyncClient, Client, ClientError
from headrace.mcp import MCPLimits
from headrace.recording.exchange_recorder import RecordingLimits
from headrace.server import create_app
from headrace.server.accounts.api import (
    AccountView,
    PasswordChange,
    SettingsUpdate,
    SignInList,
    SignInRequest,
    SignInView,
    UserSettings,
)
from headrace.server.agent_config import AgentFile
from headrace.server.api import (
    AttachmentView,
    CancelResult,
    ChatRequest,
    ConversationDetail,
    ConversationExport,
    ConversationPage,
    ConversationUpdate,
    ErrorDetail,
    ErrorResponse,
    Hit,
    InputAnswer,
    InputAnswerResult,
    InputRequestList,
    LiveAnswer,
    MessageView,
    ModelInfo,
    ModelList,
    RunTimeline,
    TimelineLane,
    TimelineSpan,
    WaitingRunList,
)
from headrace.server.gateway.config import (
    GatewayConfig,
    GatewayModel,
    GatewayProvider,
    Grant,
)
from headrace.server.http.openapi import openapi
from headrace.server.mcp_config import MCPEntry
from headrace.server.settings import Settings
from headrace.server.storage.files import FileInfo
from headrace.server.storage.snippet import SnippetPart
from headrace.server.storage.store import Conversation, StoredMessage
from headrace.server.storage.usage.limits import UsageLimits

REQUESTS = (
    ChatRequest,
    InputAnswer,
    ConversationUpdate,
    SignInRequest,
    PasswordChange,
    SettingsUpdate,
)
RESPONSES = (
    ConversationPage,
    Conversation,
    ConversationDetail,
    MessageView,
    AttachmentView,
    FileInfo,
    LiveAnswer,
    ConversationExport,
    StoredMessage,
    Hit,
    SnippetPart,
    RunTimeline,
    TimelineLane,
    TimelineSpan,
    ModelList,
    ModelInfo,
    CancelResult,
    WaitingRunList,
    InputRequestList,
    InputAnswerResult,
    AccountView,
    UserSettings,
    SignInList,
    SignInView,
    ErrorResponse,
    ErrorDetail,
)


# --- settings -----------------------------------------------------------------------


def settings_parts() -> list[str]:
    """Return the parts of the page on settings."""
    parts = [_SETTINGS, "## Server", function(create_app), server_settings()]
    parts += ["## Agent file", _AGENT_FILE, struct(AgentFile), struct(MCPEntry)]
    parts += ["## MCP servers", _MCP, struct(MCPLimits)]
    gateway = (GatewayConfig, GatewayModel, GatewayProvider, Grant, UsageLimits)
    parts += ["## Gateway file", _GATEWAY_FILE, *(struct(kind) for kind in gateway)]
    return [*parts, "## Environment", _ENVIRONMENT, variables()]


def server_settings() -> str:
    """Return the settings of the server, with the options of `headrace serve` that set them."""
    docs, types, options = field_docs(Settings), field_types(Settings), serve_options()
    rows = [
        (
            f"`{field.name}`",
            f"`{types[field.name]}`",
            default(field),
            ", ".join(f"`{option}`" for option in options.get(field.name, ())),
            docs[field.name],
        )
        for field in msgspec.structs.fields(Settings)
    ]
    head = f"### Settings\n\n{inspect.cleandoc(Settings.__doc__ or '')}\n"
    return f"{head}\n{table(('setting', 'type', 'default', 'of `headrace serve`', ''), rows)}"


def serve_options() -> dict[str, tuple[str, ...]]:
    """Return the options of each setting, as `headrace serve` reads them."""
    (settings,) = (
        node
        for node in ast.walk(parse_source(inspect.getsource(serve)))
        if isinstance(node, ast.Dict)
    )
    names = _option_names()
    return {
        ast.literal_eval(key): tuple(names[dest] for dest in _options_in(value))
        for key, value in zip(settings.keys, settings.values, strict=True)
        if key is not None
    }


def _options_in(value: ast.expr) -> list[str]:
    return [
        node.attr
        for node in ast.walk(value)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "options"
    ]


def _option_names() -> dict[str, str]:
    commands = next(
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    actions: list[argparse.Action] = commands.choices["serve"]._actions
    return {action.dest: action.option_strings[-1] for action in actions if action.option_strings}


def variables() -> str:
    """Return the table of environment variables."""
    rows = [(f"`{name}`", text) for name, text in sorted(meaning.VARIABLES.items())]
    return table(("variable", "meaning"), rows)


def recording_limits() -> str:
    """Return the table of the limits of a recording."""
    docs = field_docs(RecordingLimits)
    rows = [
        (f"`{field.name}`", _amount(field.name, field.default), docs[field.name])
        for field in msgspec.structs.fields(RecordingLimits)
    ]
    return table(("limit", "value", "limits"), rows)


def _amount(name: str, value: int) -> str:
    if not name.endswith("_bytes"):
        return f"{value:,}"
    return f"{value // 2**20} MiB" if value >= 2**20 else f"{value // 2**10} KiB"


# --- HTTP ---------------------------------------------------------------------------


def http_parts() -> list[str]:
    """Return the parts of the page on the HTTP API."""
    parts = [_HTTP, "## Requests", routes(), "Headers of requests:", headers()]
    parts += ["## Request bodies", *(struct(kind) for kind in REQUESTS)]
    parts += ["## Responses", _RESPONSES, *(struct(kind) for kind in RESPONSES)]
    return [*parts, "## Errors", _ERRORS, errors()]


def routes() -> str:
    """Return the table of routes."""
    paths = openapi("")["paths"]
    rows = [
        (f"`{request}`", text, _query(paths, *request.split()))
        for request, text in meaning.ROUTES.items()
    ]
    return table(("request", "what it does", "`?`"), rows)


def _query(paths: dict[str, Any], verb: str, path: str) -> str:
    parameters = paths.get(path, {}).get(verb.lower(), {}).get("parameters", ())
    query = [parameter for parameter in parameters if parameter["in"] == "query"]
    return "; ".join(f"`{p['name']}`: {p['description']}" for p in query)


def headers() -> str:
    """Return the table of request headers."""
    rows = [(f"`{name}`", text) for name, text in meaning.HEADERS.items()]
    return table(("header", "meaning"), rows)


def errors() -> str:
    """Return the table of error codes: meaning, what to do, extra fields."""
    rows = [
        (f"`{error.code}`", str(error.status or ""), *MEANINGS[error.code], _extras(error))
        for error in api_errors().values()
    ]
    return table(("code", "status", "meaning", "what to do", "with"), rows)


def _extras(error: APIError) -> str:
    return ", ".join(f"`{name}`" for name in error.extras)


# --- client -------------------------------------------------------------------------


def client_parts() -> list[str]:
    """Return the parts of the page on the Python client."""
    parts = [_CLIENT, interface(AsyncClient), interface(AsyncAnswer, is_made=False)]
    parts += [interface(Client), interface(Answer, is_made=False)]
    return [*parts, interface(ClientError, is_made=False)]


# --- introductions ------------------------------------------------------------------

_CLIENT = """\
Names of `headrace.client`. [Use the Python client](../howto/use-the-client.md) shows them in use;
[HTTP](http.md) describes the values that they return."""
_SETTINGS = """\
The settings of the server, the fields of an agent file, and environment variables. [The
server](../topics/server.md) explains how it works; [Command line](cli.md) has the options of every
command. Runs are limited by [`RunLimits`](engine.md#runlimits), streams by
[`WireLimits`](../topics/limits.md), and connections by the settings of
[Transports](transport.md#limits-and-retries)."""
_GATEWAY_FILE = """\
`headrace serve --gateway FILE` reads a TOML file with these tables; see
[Replace a proxy](../howto/gateway.md).
"""
_MCP = """\
See [Use the tools of MCP servers](../howto/mcp.md).
"""
_AGENT_FILE = """\
`headrace serve agent.toml` and `headrace chat --agent agent.toml` read a TOML file. Unknown fields
are rejected. The option `-m` takes precedence over `model`; in the chat, so does `HEADRACE_MODEL`.

```toml
model = "openai:gpt-5"
instructions = "Answer in one sentence."
tools = ["calculator", "clock"]
options = { effort = "high", max_tokens = 2000 }
```"""
_ENVIRONMENT = """\
[Providers](../providers.md) lists the variables for API keys and addresses. `HTTP_PROXY`,
`HTTPS_PROXY` and `NO_PROXY` are used for providers, but not for servers on this machine.
`create_app` and the rest of the library use no other variables."""
_HTTP = """\
The HTTP API of `headrace serve` and [`create_app`](settings.md#create_app). [The
server](../topics/server.md) explains how it is used and which protocols there are for the frames of
a stream. `/openapi.json` describes the API for programs, and [Use the Python
client](../howto/use-the-client.md) shows a client for it."""
_RESPONSES = """\
Times are in milliseconds since the epoch."""
_ERRORS = """\
An error is an [`ErrorResponse`](#errorresponse) with the fields of the last column; `request_id` is
also the header `x-request-id`. With `retry_after_s`, the header `Retry-After` has the same time in
whole seconds. An error after the first frame is reported by the last frame of the stream."""
