"""Headrace: the stream of a reasoning model, from provider bytes to pixels.

All public names can be imported from here. Each is loaded on first use, so that
`import headrace` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace import content, errors, events, messages
    from headrace.attachment import attach
    from headrace.content import (
        CacheBreak,
        Content,
        FileContent,
        ImageContent,
        JSONContent,
        TextContent,
    )
    from headrace.encoders import Options, OutputSchema, ToolSpec
    from headrace.encoders.provider_tool import (
        CodeInterpreter,
        FileSearch,
        ImageGeneration,
        Location,
        MCPServer,
        WebFetch,
        WebSearch,
        XSearch,
    )
    from headrace.engine import (
        API_KEYS,
        EMAIL,
        Agent,
        Allow,
        AlreadyAnswered,
        Approve,
        Ask,
        Budget,
        CancelToken,
        Compactor,
        Conversation,
        Decision,
        Deny,
        JSONLinesTrace,
        Middleware,
        Redaction,
        Run,
        RunLimits,
        RunSummary,
        RunView,
        SecretPattern,
        Summarize,
        ToolCall,
        Truncate,
    )
    from headrace.errors import (
        HeadraceError,
        InputRequired,
        LimitExceeded,
        OutputInvalid,
        RequestFailed,
        Terminate,
        UsageError,
        WireError,
    )
    from headrace.events import Record, decode_record, encode_record
    from headrace.mcp import MCP
    from headrace.messages import CallResult, InputRequest, Message, fold, fold_candidates, history
    from headrace.otel import OpenTelemetry
    from headrace.outcome import ErrorInfo, FinishReason
    from headrace.prices import price
    from headrace.recording import ReplayTransport
    from headrace.status import extract_status, parse_status_marker
    from headrace.tools import ExternalTool, InputDenied, Tool, ToolContext, ToolReturn, tool_error
    from headrace.tools.builtin import NotePad, clock_tool, default_tools, fetch_tool
    from headrace.tools.builtin.calculator import calculator
    from headrace.tools.tool import tool
    from headrace.transport import NEVER, RetryPolicy, Timeouts
    from headrace.transport.http import HTTPTransport
    from headrace.turn import (
        Fallback,
        FallbackEntry,
        ListedModel,
        Result,
        Switch,
        TokenCount,
        TurnStream,
        complete,
        complete_async,
        count_tokens,
        count_tokens_async,
        list_models,
        list_models_async,
        stream,
    )
    from headrace.typed import PartialJSON
    from headrace.usage import Usage
    from headrace.wire.decode import decode, decode_async
    from headrace.wire.decoder import Decoder
    from headrace.wire.dialects.chat import ChatQuirks
    from headrace.wire.limits import WireLimits

    __version__: str

# For each module, the public names that it defines. Keep it in step with the imports above.
_NAMES = {
    "headrace.attachment": "attach",
    "headrace.content": "CacheBreak Content FileContent ImageContent JSONContent TextContent",
    "headrace.encoders": "Options OutputSchema ToolSpec",
    "headrace.encoders.provider_tool": (
        "CodeInterpreter FileSearch ImageGeneration Location MCPServer WebFetch WebSearch XSearch"
    ),
    "headrace.engine": (
        "API_KEYS EMAIL Agent Allow AlreadyAnswered Approve Ask Budget CancelToken Compactor"
        " Conversation Decision Deny JSONLinesTrace Middleware Redaction Run RunLimits RunSummary"
        " RunView SecretPattern Summarize ToolCall Truncate"
    ),
    "headrace.errors": (
        "HeadraceError InputRequired LimitExceeded OutputInvalid RequestFailed Terminate UsageError"
        " WireError"
    ),
    "headrace.events": "Record decode_record encode_record",
    "headrace.mcp": "MCP",
    "headrace.messages": "CallResult InputRequest Message fold fold_candidates history",
    "headrace.otel": "OpenTelemetry",
    "headrace.outcome": "ErrorInfo FinishReason",
    "headrace.prices": "price",
    "headrace.recording": "ReplayTransport",
    "headrace.status": "extract_status parse_status_marker",
    "headrace.tools": "ExternalTool InputDenied Tool ToolContext ToolReturn tool tool_error",
    "headrace.tools.builtin": "NotePad calculator clock_tool default_tools fetch_tool",
    "headrace.transport": "NEVER RetryPolicy Timeouts",
    "headrace.transport.http": "HTTPTransport",
    "headrace.turn": (
        "Fallback FallbackEntry ListedModel Result Switch TokenCount TurnStream complete"
        " complete_async count_tokens count_tokens_async list_models list_models_async stream"
    ),
    "headrace.typed": "PartialJSON",
    "headrace.usage": "Usage",
    "headrace.wire.decode": "decode decode_async",
    "headrace.wire.decoder": "Decoder",
    "headrace.wire.dialects.chat": "ChatQuirks",
    "headrace.wire.limits": "WireLimits",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("content", "errors", "events", "messages")

__all__ = [
    "API_KEYS",
    "Agent",
    "Allow",
    "AlreadyAnswered",
    "Approve",
    "Ask",
    "Budget",
    "CacheBreak",
    "CallResult",
    "CancelToken",
    "ChatQuirks",
    "CodeInterpreter",
    "Compactor",
    "Content",
    "Conversation",
    "Decision",
    "Decoder",
    "Deny",
    "EMAIL",
    "ErrorInfo",
    "ExternalTool",
    "Fallback",
    "FallbackEntry",
    "FileContent",
    "FileSearch",
    "FinishReason",
    "HTTPTransport",
    "HeadraceError",
    "ImageContent",
    "ImageGeneration",
    "InputDenied",
    "InputRequest",
    "InputRequired",
    "JSONContent",
    "JSONLinesTrace",
    "LimitExceeded",
    "ListedModel",
    "Location",
    "MCP",
    "MCPServer",
    "Message",
    "Middleware",
    "NEVER",
    "NotePad",
    "OpenTelemetry",
    "Options",
    "OutputInvalid",
    "OutputSchema",
    "PartialJSON",
    "Record",
    "Redaction",
    "ReplayTransport",
    "RequestFailed",
    "Result",
    "RetryPolicy",
    "Run",
    "RunLimits",
    "RunSummary",
    "RunView",
    "SecretPattern",
    "Summarize",
    "Switch",
    "Terminate",
    "TextContent",
    "Timeouts",
    "TokenCount",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolReturn",
    "ToolSpec",
    "Truncate",
    "TurnStream",
    "Usage",
    "UsageError",
    "WebFetch",
    "WebSearch",
    "WireError",
    "WireLimits",
    "XSearch",
    "__version__",
    "attach",
    "calculator",
    "clock_tool",
    "complete",
    "complete_async",
    "content",
    "count_tokens",
    "count_tokens_async",
    "decode",
    "decode_async",
    "decode_record",
    "default_tools",
    "encode_record",
    "errors",
    "events",
    "extract_status",
    "fetch_tool",
    "fold",
    "fold_candidates",
    "history",
    "list_models",
    "list_models_async",
    "messages",
    "parse_status_marker",
    "price",
    "stream",
    "tool",
    "tool_error",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        from importlib import metadata  # as slow to import as msgspec, so only on request

        value: Any = metadata.version("headrace")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"headrace.{name}")
    else:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
