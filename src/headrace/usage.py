"""Token counts and cost of a turn or a run."""

from __future__ import annotations

from typing import Any

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Token counts and cost of a turn or a run. A count that is not known is None, never 0."""

    input_tokens: int | None = None
    """All input tokens, cached and uncached."""
    output_tokens: int | None = None
    """All output tokens, including reasoning."""
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    """The part of `output_tokens` that is reasoning."""
    cached_input_tokens: int | None = None
    """The part of `input_tokens` that was read from the cache."""
    cache_creation_input_tokens: int | None = None
    """The part of `input_tokens` that was written to the cache; the sum of the next two, if they
    are known."""
    cache_creation_5m_tokens: int | None = None
    cache_creation_1h_tokens: int | None = None
    cost: float | None = None
    """Cost in the provider's currency, if it reports one."""

    def __add__(self, more: Usage) -> Usage:
        """Return the sum over turns. None + n = n."""
        return Usage(
            **{
                name: _add(getattr(self, name), getattr(more, name))
                for name in self.__struct_fields__
            }
        )

    def merge(self, report: Usage) -> Usage:
        """Return the running total after a later report. A missing or zero count never overwrites
        an earlier one."""
        return Usage(
            **{
                name: getattr(report, name)
                or _keep_earlier(getattr(self, name), getattr(report, name))
                for name in self.__struct_fields__
            }
        )

    @property
    def is_known(self) -> bool:
        """Whether the provider reported anything."""
        return any(getattr(self, name) is not None for name in self.__struct_fields__)


def _add(a: Any, b: Any) -> Any:
    if a is None:
        return b
    return a if b is None else a + b


def _keep_earlier(earlier: Any, zero_or_none: Any) -> Any:
    return zero_or_none if earlier is None else earlier


UNKNOWN_USAGE = Usage()
