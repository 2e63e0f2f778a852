"""The context window of a model: how many tokens a request and its answer can have together."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from headrace.prices.cost import load_prices


@cache
def find_context_window(name: str) -> int | None:
    """Return the context window of `provider:model` by the public price list. None if the list does
    not know it, and if the extra `prices` is missing."""
    provider, _, model = name.partition(":")
    if load_prices() is None:
        return None
    data: Any = import_module("genai_prices.data_snapshot")
    try:
        _, found = data.get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    window: int | None = found.context_window
    return window
