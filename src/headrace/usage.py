"""Token counts and cost of a turn or a run."""

from __future__ import annotations

from typing import Any

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Token counts of a turn or a run. Unknown is None, never a silent 0."""

    input_tokens: int | None = None
    """Cached and uncached."""
    output_tokens: int | None = None
    """Reasoning included."""
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    """A subset of `output_tokens`."""
    cached_input_tokens: int | None = None
    """A subset of `input_tokens`."""
    cache_creation_input_tokens: int | None = None
    """A subset of `input_tokens`; the sum of the next two where the TTL is told."""
    cache_creation_5m_tokens: int | None = None
    cache_creation_1h_tokens: int | None = None
    cost: float | None = None
    """In the provider's currency, where it tells one."""

    def __add__(self, more: Usage) -> Usage:
        """The sum over turns: None + n = n."""
        return Usage(
            **{
                name: _add(getattr(self, name), getattr(more, name))
                for name in self.__struct_fields__
            }
        )

    def merge(self, report: Usage) -> Usage:
        """A running total after a later report: an absent count or a zero never
        overwrites what an earlier report told."""
        return Usage(
            **{
                name: getattr(report, name)
                or _keep_earlier(getattr(self, name), getattr(report, name))
                for name in self.__struct_fields__
            }
        )

    @property
    def is_known(self) -> bool:
        """Whether the provider told anything at all."""
        return any(getattr(self, name) is not None for name in self.__struct_fields__)


def _add(a: Any, b: Any) -> Any:
    if a is None:
        return b
    return a if b is None else a + b


def _keep_earlier(earlier: Any, zero_or_none: Any) -> Any:
    return zero_or_none if earlier is None else earlier


UNKNOWN_USAGE = Usage()
