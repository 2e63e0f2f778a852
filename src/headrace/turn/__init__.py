"""One turn of any provider's model: `stream()`, `complete()` and `complete_async()`."""

from headrace.turn.api import complete, complete_async, stream
from headrace.turn.fallback import Fallback, FallbackEntry, Switch
from headrace.turn.inquiry import (
    ListedModel,
    TokenCount,
    count_tokens,
    count_tokens_async,
    list_models,
    list_models_async,
)
from headrace.turn.result import Result
from headrace.turn.turn_stream import TurnStream

__all__ = [
    "Fallback",
    "FallbackEntry",
    "ListedModel",
    "Result",
    "Switch",
    "TokenCount",
    "TurnStream",
    "complete",
    "complete_async",
    "count_tokens",
    "count_tokens_async",
    "list_models",
    "list_models_async",
    "stream",
]
