"""`TurnUsage`: completes the usage of one turn at its end, with its cost and with estimates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace.events import TurnFailed, TurnFinished
from headrace.prices.cost import find_cost
from headrace.prices.estimate import estimate_usage
from headrace.providers import Endpoint
from headrace.usage import Usage

End: TypeAlias = TurnFinished | TurnFailed


class TurnUsage:
    """Completes the usage of one turn.

    The provider's own counts and cost are kept. A turn that broke off has estimated counts if
    anything was generated or if it was stopped from this side; a provider that fails by itself
    before its first output bills nothing. `encode_body` returns the body of the request; it is
    called only for an estimate, so that the bodies of live turns need no memory.
    """

    __slots__ = ("_encode_body", "_endpoint", "model")

    def __init__(self, endpoint: Endpoint, encode_body: Callable[[], bytes]) -> None:
        self._endpoint = endpoint
        self._encode_body = encode_body
        self.model: str | None = None
        """The model that the response names, which may be more exact than the request."""

    def complete(self, end: End, output_chars: int) -> End:
        """Return the terminal event with the complete usage of its turn."""
        if isinstance(end, TurnFinished):
            billed = end.provider_data.get("billed_usage")
            usage = self._add_cost(end.usage, billed, end.service_tier)
        elif output_chars or end.usage.is_known or end.category == "interrupted":
            usage = self.estimate(end.usage, output_chars)
        else:
            usage = end.usage
        return end if usage is end.usage else msgspec.structs.replace(end, usage=usage)

    def estimate(self, usage: Usage, output_chars: int) -> Usage:
        """Return the usage of a turn that broke off after this many characters of output."""
        return self._add_cost(estimate_usage(usage, self._encode_body, output_chars))

    def _add_cost(self, usage: Usage, billed: Any = None, tier: str | None = None) -> Usage:
        if usage.cost is not None:
            return usage
        priced = usage if billed is None else msgspec.convert(billed, Usage)
        endpoint = self._endpoint
        models = dict.fromkeys(filter(None, (self.model, endpoint.model)))
        cost = find_cost(priced, endpoint.provider, models, endpoint.url, service_tier=tier)
        return usage if cost is None else msgspec.structs.replace(usage, cost=cost)
