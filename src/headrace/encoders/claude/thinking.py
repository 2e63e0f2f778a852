"""How much Claude thinks: by an effort since 4.6, by a budget of tokens before."""

from __future__ import annotations

from headrace.encoders.model_family import is_generation_at_least, parse_family
from headrace.encoders.request import Effort, Request
from headrace.errors import UsageError
from headrace.events import JSONObject

DEFAULT_MAX_TOKENS = 8_192
"""Anthropic requires a number; every model accepts this one."""
# https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
ADAPTIVE_SINCE = (4, 6)
_XHIGH_SINCE = (4, 7)
# The first generation that rejects temperature and similar options.
NO_SAMPLING_SINCE = (4, 7)
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
_MIN_BUDGET = 1_024
_MIN_TOP_P_WHILE_THINKING = 0.95


def find_effort(budget_tokens: int) -> Effort:
    """Return the lowest effort whose budget of thinking tokens is at least this large."""
    for effort, budget in _BUDGETS.items():
        if budget >= budget_tokens:
            return effort
    return "max"


def is_claude_since(model: str, first: tuple[int, int]) -> bool:
    """Return whether a model is a Claude of this generation or later."""
    return parse_family(model) == "claude" and is_generation_at_least(model, first)


def map_effort(effort: Effort, model: str) -> str:
    """Return Anthropic's word for an effort."""
    if effort == "xhigh" and not is_generation_at_least(model, _XHIGH_SINCE):
        return "high"
    return _WORDS.get(effort, effort)


def reject_beside_thinking(request: Request) -> None:
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


def encode_thinking(request: Request) -> JSONObject:
    """Encode the effort. Since 4.6 the model decides how much to think; before, there is a budget.
    The text is asked for explicitly, because newer models leave it out."""
    effort = request.options.effort
    if effort is None:
        return {}
    if effort == "none":
        return _encode_no_thinking(request.model)
    if is_claude_since(request.model, ADAPTIVE_SINCE):
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
