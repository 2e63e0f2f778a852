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
    """Cost in US dollars: as the provider reports it, or else computed from its prices if the extra
    `prices` is installed."""
    units: dict[str, int] | None = None
    """Counts that only some prices depend on, by name, such as `web_searches` or
    `input_audio_tokens`."""
    is_estimated: bool = False
    """Whether counts were estimated, because a turn broke off before the provider reported them.
    The cost is then an estimate too."""

    def __add__(self, more: Usage) -> Usage:
        """Return the sum over turns. None + n = n."""
        return Usage(
            units=_add_units(self.units, more.units),
            is_estimated=self.is_estimated or more.is_estimated,
            **{name: _add(getattr(self, name), getattr(more, name)) for name in _COUNTS},
        )

    def merge(self, report: Usage) -> Usage:
        """Return the running total after a later report. A missing or zero count never overwrites
        an earlier one."""
        return Usage(
            units=report.units if self.units is None else self.units | (report.units or {}),
            is_estimated=self.is_estimated or report.is_estimated,
            **{
                name: getattr(report, name)
                or _keep_earlier(getattr(self, name), getattr(report, name))
                for name in _COUNTS
            },
        )

    @property
    def is_known(self) -> bool:
        """Whether anything is known, reported or estimated."""
        return any(getattr(self, name) is not None for name in (*_COUNTS, "units"))


_COUNTS = tuple(name for name in Usage.__struct_fields__ if name not in ("units", "is_estimated"))


def _add_units(a: dict[str, int] | None, b: dict[str, int] | None) -> dict[str, int] | None:
    if a is None or b is None:
        return b if a is None else a
    return {name: a.get(name, 0) + b.get(name, 0) for name in a | b}


def _add(a: Any, b: Any) -> Any:
    if a is None:
        return b
    return a if b is None else a + b


def _keep_earlier(earlier: Any, zero_or_none: Any) -> Any:
    return zero_or_none if earlier is None else earlier


UNKNOWN_USAGE = Usage()
