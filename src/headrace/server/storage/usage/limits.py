"""Limits of what may be used, of a user or of an access token."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

PERIODS: Final = ("minute", "day", "month")
"""The times in which usage is counted."""
COUNTS: Final = ("requests", "tokens", "cost")
"""What is counted."""


class UsageLimits(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Most that may be used in a minute, a day and a month (UTC). None is no limit."""

    requests_per_minute: int | None = None
    """Most requests that begin in a minute."""
    tokens_per_minute: int | None = None
    """Most tokens in a minute, input and output together."""
    cost_per_minute: float | None = None
    """Most US dollars in a minute."""
    requests_per_day: int | None = None
    """Most requests that begin in a day."""
    tokens_per_day: int | None = None
    """Most tokens in a day, input and output together."""
    cost_per_day: float | None = None
    """Most US dollars in a day."""
    requests_per_month: int | None = None
    """Most requests that begin in a month."""
    tokens_per_month: int | None = None
    """Most tokens in a month, input and output together."""
    cost_per_month: float | None = None
    """Most US dollars in a month."""

    @property
    def is_unlimited(self) -> bool:
        """Whether nothing is limited."""
        return all(getattr(self, name) is None for name in self.__struct_fields__)

    def describe(self) -> list[str]:
        """Return the limits in words, such as `100 requests per day`."""
        named = ((count, period) for period in PERIODS for count in COUNTS)
        found = ((*names, getattr(self, "_per_".join(names))) for names in named)
        return [
            describe_limit(count, period, limit)
            for count, period, limit in found
            if limit is not None
        ]


class TokenQuota(msgspec.Struct, frozen=True):
    """The limits of an access token."""

    id: str
    """Id of the first token. Tokens that replace it keep it, and are counted together with it."""
    limits: UsageLimits

    @property
    def key(self) -> str:
        """Return what the usage is counted under."""
        return quota_key(self.id)


class CountedLimits(NamedTuple):
    """Limits, and what the usage is counted under: the name of a user or `TokenQuota.key`."""

    key: str
    limits: UsageLimits


QUOTA_KEYS: Final = ("\ntoken ", "\ntoken!")
"""The range of all keys of quotas: from the first one up to the second one."""


def quota_key(quota_id: str) -> str:
    """Return what the usage of a quota is counted under. No user can have this name, because names
    are printable."""
    return QUOTA_KEYS[0] + quota_id


def describe_limit(count: str, period: str, limit: float) -> str:
    """Return a limit in words, such as `100 requests per day`."""
    what = f"${limit:g}" if count == "cost" else f"{limit} {count}"
    return f"{what} per {period}"
