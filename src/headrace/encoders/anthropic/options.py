"""Encodes the options of Anthropic requests, which differ by the model's generation."""

from __future__ import annotations

from headrace.encoders.anthropic.schema import adapt_schema
from headrace.encoders.model_family import is_generation_at_least, parse_family
from headrace.encoders.request import Effort, Request, reject_options
from headrace.errors import UsageError
from headrace.events import JSONObject

DEFAULT_MAX_TOKENS = 8_192
"""Anthropic requires a number; every model accepts this one."""
ROOMY_MAX_TOKENS = 32_000
"""Since 4.6 reasoning counts toward this number, and all of these models accept it."""
# https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
_ADAPTIVE_SINCE = (4, 6)
_XHIGH_SINCE = (4, 7)
# The first generation that rejects temperature and similar options.
_NO_SAMPLING_SINCE = (4, 7)
# The first generation that thinks by default.
_THINKS_SINCE = (5, 0)
_WORDS: dict[Effort, str] = {"minimal": "low"}
# A budget and the room for the answer must fit into 32,000, the maximum of Opus 4.1.
_BUDGETS: dict[Effort, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 20_480,
    "max": 23_808,
}
_LACKS = (
    "seed",
    "logprobs",
    "top_logprobs",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "verbosity",
    "modalities",
    "prompt_cache_key",
)
_MIN_BUDGET = 1_024
_MIN_TOP_P_WHILE_THINKING = 0.95


def encode_options(request: Request) -> JSONObject:
    """Return every field of the body that is no message, tool or instruction."""
    options = request.options
    reject_options(options, "Anthropic", *_LACKS)
    if _is_claude_since(request.model, _NO_SAMPLING_SINCE):
        reject_options(options, f"the model {request.model}", "temperature", "top_p", "top_k")
    if options.cache == "24h":
        raise UsageError("Anthropic caches for 5m or 1h: cache='24h' is not possible")
    if options.effort not in (None, "none") and parse_family(request.model) == "claude":
        _reject_beside_thinking(request)
    named = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "service_tier": options.service_tier,
        "metadata": None if options.user is None else {"user_id": options.user},
        "stop_sequences": list(options.stop) or None,
        "tool_choice": _encode_tool_choice(request),
        "output_config": _encode_output_config(request) or None,
    }
    body: JSONObject = {"max_tokens": _choose_max_tokens(request)}
    body |= {name: value for name, value in named.items() if value is not None}
    return body | _encode_thinking(request)


def _reject_beside_thinking(request: Request) -> None:
    """Raise `UsageError` for what Claude refuses while it thinks.

    https://platform.claude.com/docs/en/build-with-claude/extended-thinking#feature-compatibility
    """
    options = request.options
    refused = {
        "temperature": options.temperature not in (None, 1),
        "top_p": options.top_p is not None and options.top_p < _MIN_TOP_P_WHILE_THINKING,
        "top_k": options.top_k is not None,
        "tool_choice": request.tool_choice not in (None, "auto", "none"),
    }
    given = [
        f"{name}={getattr(options, name)!r}" for name, is_refused in refused.items() if is_refused
    ]
    if given:
        raise UsageError(
            f"Claude does not think with {' and '.join(given)}: leave that out, or set"
            " effort='none' or no effort"
        )


def _is_claude_since(model: str, first: tuple[int, int]) -> bool:
    return parse_family(model) == "claude" and is_generation_at_least(model, first)


def _choose_max_tokens(request: Request) -> int:
    if request.options.max_tokens is not None:
        return request.options.max_tokens
    is_roomy = _is_claude_since(request.model, _ADAPTIVE_SINCE)
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
    if options.effort not in (None, "none") and _is_claude_since(request.model, _ADAPTIVE_SINCE):
        config["effort"] = _map_effort(options.effort, request.model)
    if options.output is not None:
        config["format"] = {"type": "json_schema", "schema": adapt_schema(options.output.schema)}
    return config


def _map_effort(effort: Effort, model: str) -> str:
    if effort == "xhigh" and not is_generation_at_least(model, _XHIGH_SINCE):
        return "high"
    return _WORDS.get(effort, effort)


def _encode_thinking(request: Request) -> JSONObject:
    """Encode the effort. Since 4.6 the model decides how much to think; before, there is a budget.
    The text is asked for explicitly, because newer models leave it out."""
    effort = request.options.effort
    if effort is None:
        return {}
    if effort == "none":
        return _encode_no_thinking(request.model)
    if _is_claude_since(request.model, _ADAPTIVE_SINCE):
        return {"thinking": {"type": "adaptive", "display": "summarized"}}
    return _encode_budget(effort, request.options.max_tokens)


def _encode_no_thinking(model: str) -> JSONObject:
    """Switch thinking off; models on which it is off by default may reject the field."""
    if parse_family(model) == "claude" and not is_generation_at_least(model, _THINKS_SINCE):
        return {}
    return {"thinking": {"type": "disabled"}}


def _encode_budget(effort: Effort, max_tokens: int | None) -> JSONObject:
    """Encode the effort as a budget of thinking tokens that leaves room for the answer."""
    budget = _BUDGETS[effort]
    if max_tokens is None:
        room = {"max_tokens": budget + DEFAULT_MAX_TOKENS}
    elif max_tokens <= _MIN_BUDGET:
        raise UsageError(f"thinking needs max_tokens above {_MIN_BUDGET}, and this is {max_tokens}")
    else:
        budget, room = max(_MIN_BUDGET, min(budget, max_tokens // 2)), {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}, **room}
