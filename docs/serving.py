"""The reference pages of the server, read off the code: its settings, and what it speaks."""

from __future__ import annotations

import argparse
import ast
import inspect
from typing import Any

import msgspec

from docs import meaning
from docs.outline import default, field_docs, field_types, function, interface, struct, table
from docs.refusal import MEANINGS, Refusal, refusals
from headrace.cli.commands.serve import command as serve
from headrace.cli.parser import build_parser
from headrace.client import Answer, AsyncAnswer, AsyncClient, Client, ClientError
from headrace.recording.exchange_recorder import RecordingLimits
from headrace.server import create_app
from headrace.server.agent_config import AgentFile
from headrace.server.api import (
    CancelResult,
    ChatRequest,
    ConversationDetail,
    ConversationExport,
    ConversationPage,
    ConversationUpdate,
    ErrorDetail,
    ErrorResponse,
    LiveAnswer,
    MessageView,
    ModelInfo,
    ModelList,
)
from headrace.server.http.openapi import openapi
from headrace.server.settings import Settings
from headrace.server.storage.store import Conversation, StoredMessage

SENT = (ChatRequest, ConversationUpdate)
ANSWERED = (
    ConversationPage,
    Conversation,
    ConversationDetail,
    MessageView,
    LiveAnswer,
    ConversationExport,
    StoredMessage,
    ModelList,
    ModelInfo,
    CancelResult,
    ErrorResponse,
    ErrorDetail,
)


# --- settings -----------------------------------------------------------------------


def settings_parts() -> list[str]:
    """The page of what can be set."""
    parts = [_SETTINGS, "## Server", function(create_app), server_settings()]
    parts += ["## Agent file", _AGENT_FILE, struct(AgentFile)]
    return [*parts, "## Environment", _ENVIRONMENT, variables()]


def server_settings() -> str:
    """Every setting of a server, and the option of `headrace serve` that sets it."""
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
    """For each setting the options that it is made of, as `headrace serve` passes them on."""
    (made,) = (
        node
        for node in ast.walk(ast.parse(inspect.getsource(serve)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "create_app"
    )
    names = _option_names()
    return {
        keyword.arg: tuple(names[dest] for dest in _options_in(keyword.value))
        for keyword in made.keywords
        if keyword.arg in Settings.__struct_fields__
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
    return {one.dest: one.option_strings[-1] for one in actions if one.option_strings}


def variables() -> str:
    """Every variable of the environment that is looked at."""
    rows = [(f"`{name}`", meant) for name, meant in sorted(meaning.VARIABLES.items())]
    return table(("variable", "meaning"), rows)


def tape_limits() -> str:
    """What a recording keeps."""
    docs = field_docs(RecordingLimits)
    rows = [
        (f"`{field.name}`", _amount(field.name, field.default), docs[field.name])
        for field in msgspec.structs.fields(RecordingLimits)
    ]
    return table(("limit", "value", "bounds"), rows)


def _amount(name: str, value: int) -> str:
    return f"{value // 2**20} MiB" if name.endswith("_bytes") else f"{value:,}"


# --- HTTP ---------------------------------------------------------------------------


def http_parts() -> list[str]:
    """The page of what the server speaks."""
    parts = [_HTTP, "## Requests", routes(), "Headers that a request may carry:", headers()]
    parts += ["## What is sent", *(struct(kind) for kind in SENT)]
    parts += ["## What is answered", _ANSWERED, *(struct(kind) for kind in ANSWERED)]
    return [*parts, "## Errors", _ERRORS, errors()]


def routes() -> str:
    """Every request that there is."""
    paths = openapi("")["paths"]
    rows = [
        (f"`{request}`", meant, _query(paths, *request.split()))
        for request, meant in meaning.ROUTES.items()
    ]
    return table(("request", "what it does", "`?`"), rows)


def _query(paths: dict[str, Any], verb: str, path: str) -> str:
    parameters = paths.get(path, {}).get(verb.lower(), {}).get("parameters", ())
    told = [one for one in parameters if one["in"] == "query"]
    return "; ".join(f"`{one['name']}`: {one['description']}" for one in told)


def headers() -> str:
    """What a request may carry."""
    rows = [(f"`{name}`", meant) for name, meant in meaning.HEADERS.items()]
    return table(("header", "meaning"), rows)


def errors() -> str:
    """Every refusal: what it means, what comes with it, and what to do."""
    rows = [
        (f"`{one.code}`", str(one.status or ""), *MEANINGS[one.code], _extras(one))
        for one in refusals().values()
    ]
    return table(("code", "status", "meaning", "what to do", "with"), rows)


def _extras(refusal: Refusal) -> str:
    return ", ".join(f"`{name}`" for name in refusal.extras)


# --- client -------------------------------------------------------------------------


def client_parts() -> list[str]:
    """The page of the Python client."""
    parts = [_CLIENT, interface(AsyncClient), interface(AsyncAnswer, is_made=False)]
    parts += [interface(Client), interface(Answer, is_made=False)]
    return [*parts, interface(ClientError, is_made=False)]


# --- words around them --------------------------------------------------------------

_CLIENT = """\
Names of `headrace.client`. [Use the Python client](../howto/use-the-client.md) shows them in use;
[HTTP](http.md) describes the values that they return."""
_SETTINGS = """\
What can be set around an agent: the server, the file that describes one, and the environment. [The
server](../topics/server.md) tells how it works; [Command line](cli.md) has the options of every
command, with their units. What bounds a run is [`RunLimits`](engine.md#runlimits), a stream
[`WireLimits`](../topics/limits.md), a connection [Transports](transport.md#limits-and-retries)."""
_AGENT_FILE = """\
`headrace serve agent.toml` and `headrace chat --agent agent.toml` read a TOML file. A field that is
not here is refused. `-m` goes before its `model`; in the chat, so does `HEADRACE_MODEL`.

```toml
model = "openai:gpt-5"
instructions = "Answer in one sentence."
tools = ["calculator", "clock"]
options = { effort = "high", max_tokens = 2000 }
```"""
_ENVIRONMENT = """\
Keys and addresses are in variables of their providers: [Providers](../providers.md) lists them. A
proxy is asked only by a transport that was [told to](transport.md#httptransport) (`trust_env`).
`create_app` and the rest of the library look at no other variable."""
_HTTP = """\
The HTTP API of `headrace serve` and [`create_app`](settings.md#create_app). [The
server](../topics/server.md) explains how it is used; the frames of a stream are those of the
protocols [ux](../topics/ux.md) and [thinking](../topics/thinking.md). `/openapi.json` describes the
API for programs, and [Use the Python client](../howto/use-the-client.md) shows a client for it."""
_ANSWERED = """\
Times are milliseconds since 1970."""
_ERRORS = """\
An error is an [`ErrorResponse`](#errorresponse) with the fields of the last column; `request_id` is
also the header `x-request-id`. With `retry_after_s`, the header `Retry-After` has the same time in
whole seconds. An error after the first frame is reported by the last frame of the stream."""
