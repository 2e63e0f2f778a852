"""The cost of a usage, from the prices of the package `genai-prices` (extra `prices`).

Nothing here uses the network. A program that runs `genai_prices.UpdatePrices` gets newer prices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Any

from headrace.errors import UsageError
from headrace.prices.price_units import to_price_units
from headrace.providers import CATALOG, Provider
from headrace.usage import Usage


def price(
    usage: Usage,
    model: str,
    *,
    service_tier: str | None = None,
    base_url: str | None = None,
    at: datetime | None = None,
) -> float | None:
    """Return the cost of a usage in US dollars, or None if the price of the model is not known.

    `model` is `provider:model`. `service_tier` is the tier that the provider reported, `base_url`
    the address of the server if it is not the provider's own, and `at` the time of the request,
    since prices change; the default is now. The result is computed even if the usage has a cost
    that the provider reported. Raises `UsageError` for a model that is not `provider:model`, and
    if the extra `prices` is missing.
    """
    name, colon, model_name = model.partition(":")
    if not colon or not model_name:
        raise UsageError(f"expected provider:model, such as openai:gpt-5, not {model!r}")
    if load_prices() is None:
        raise UsageError("genai-prices is missing: install headrace[prices] to compute costs")
    provider = CATALOG.get(name, Provider(name=name, title=name))
    return find_cost(usage, provider, [model_name], base_url, service_tier=service_tier, at=at)


def find_cost(
    usage: Usage,
    provider: Provider,
    models: Iterable[str],
    url: str | None = None,
    *,
    service_tier: str | None = None,
    at: datetime | None = None,
) -> float | None:
    """Return the cost of a usage by the price of the first of these models that has one. None if
    none has, if the counts are not known, and if the extra `prices` is missing."""
    prices = load_prices()
    if prices is None or provider.is_rehearsal:
        return None
    units = to_price_units(usage)
    if units is None:
        return None
    names = list(models)
    context = {"service_tier": service_tier} if service_tier else None
    for source in _price_lists(provider, url):
        for name in names:
            try:
                found = prices.calc_price(
                    prices.Usage(**units),
                    name,
                    **source,
                    genai_request_timestamp=at,
                    price_context=context,
                )
            except LookupError:
                continue
            except ValueError:
                # Counts that contradict each other, which only a broken server reports.
                return None
            return float(found.total_price)
    return None


def _price_lists(provider: Provider, url: str | None) -> Iterator[dict[str, str]]:
    """Iterate over the ways to name the price list of a provider, the most exact first: its
    address, the address in the catalog if a proxy is in between, and its name."""
    if url is not None:
        yield {"provider_api_url": url}
    if provider.base_url is not None and provider.base_url != url:
        yield {"provider_api_url": provider.base_url}
    yield {"provider_id": provider.name}


@cache
def load_prices() -> Any:
    """Import `genai_prices` with its data. Returns None if it is not installed. The first call
    takes some tenths of a second, so a server makes it before it serves."""
    try:
        prices: Any = import_module("genai_prices")
        import_module("genai_prices.data")
    except ModuleNotFoundError:
        return None
    return prices
