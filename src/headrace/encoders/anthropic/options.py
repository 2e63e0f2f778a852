"""Encodes the options of Anthropic requests, which differ by the model's generation."""

from __future__ import annotations

from headrace.encoders.claude.schema import adapt_schema
from headrace.encoders.claude.thinking import (
    ADAPTIVE_SINCE,
    DEFAULT_MAX_TOKENS,
    NO_SAMPLING_SINCE,
    encode_thinking,
    is_claude_since,
    map_effort,
    reject_beside_thinking,
)
from headrace.encoders.model_family import parse_family
from headrace.encoders.option_table import OptionTable, reject_options
from headrace.encoders.request import Request
from headrace.errors import UsageError
from headrace.events import JSONObject

ROOMY_MAX_TOKENS = 32_000
"""Since 4.6 reasoning counts toward this number, and all of these models accept it."""
_OPTIONS = OptionTable(
    provider="Anthropic",
    fields={
        "temperature": "temperature",
        "top_p": "top_p",
        "top_k": "top_k",
        "stop": "stop_sequences",
        "service_tier": "service_tier",
    },
    encoded=(
        "max_tokens",
        "effort",
        "output",
        "parallel_calls",
        "user",
        "compact_at",
        "clear_tool_results_at",
        "betas",
    ),
)


def encode_options(request: Request) -> JSONObject:
    """Return every field of the body that is no message, tool or instruction."""
    options = request.options
    fields = _OPTIONS.collect(options)
    if is_claude_since(request.model, NO_SAMPLING_SINCE):
        reject_options(options, f"the model {request.model}", "temperature", "top_p", "top_k")
    if options.cache == "24h":
        raise UsageError("Anthropic caches for 5m or 1h: cache='24h' is not possible")
    if options.effort not in (None, "none") and parse_family(request.model) == "claude":
        reject_beside_thinking(request)
    named = {
        "metadata": None if options.user is None else {"user_id": options.user},
        "tool_choice": _encode_tool_choice(request),
        "output_config": _encode_output_config(request) or None,
    }
    body: JSONObject = {"max_tokens": _choose_max_tokens(request), **fields}
    body |= {name: value for name, value in named.items() if value is not None}
    return body | encode_thinking(request)


def _choose_max_tokens(request: Request) -> int:
    if request.options.max_tokens is not None:
        return request.options.max_tokens
    is_roomy = is_claude_since(request.model, ADAPTIVE_SINCE)
    return ROOMY_MAX_TOKENS if is_roomy else DEFAULT_MAX_TOKENS


def _encode_tool_choice(request: Request) -> JSONObject | None:
    if request.tool_choice is None and request.parallel_calls is None:
        return None
    match request.tool_choice:
        case None | "auto":
            choice: JSONObject = {"type": "auto"}
        case "none":
            return {"type": "none"}
        case "required":
            choice = {"type": "any"}
        case name:
            choice = {"type": "tool", "name": name}
    if request.parallel_calls is not None:
        choice["disable_parallel_tool_use"] = not request.parallel_calls
    return choice


def _encode_output_config(request: Request) -> JSONObject:
    options, config = request.options, JSONObject()
    if options.effort not in (None, "none") and is_claude_since(request.model, ADAPTIVE_SINCE):
        config["effort"] = map_effort(options.effort, request.model)
    if options.output is not None:
        config["format"] = {"type": "json_schema", "schema": adapt_schema(options.output.schema)}
    return config
