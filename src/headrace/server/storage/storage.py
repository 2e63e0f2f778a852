"""The `Storage` interface: everything that a server stores, wherever that is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from headrace.server.storage.access_tokens import User
from headrace.server.storage.accounts import Accounts
from headrace.server.storage.accounts.user_data import UserData
from headrace.server.storage.cluster import Cluster
from headrace.server.storage.files import Files
from headrace.server.storage.log import Log
from headrace.server.storage.store import Store
from headrace.server.storage.usage.limits import CountedLimits
from headrace.server.storage.usage.usage_table import UsageRow
from headrace.server.storage.usage.windows import UsedUp


class Metric(NamedTuple):
    """A figure for the metrics of a server."""

    name: str
    kind: str
    """`counter` or `gauge`."""
    description: str
    value: float


def write_metrics(waiting: int, lag_s: float) -> list[Metric]:
    """Return the metrics of the queue in which writes wait."""
    lag = "Time that the write of records which is going on has taken."
    return [
        Metric("waiting_writes", "gauge", "Writes that wait for the one before.", waiting),
        Metric("log_lag_seconds", "gauge", lag, round(lag_s, 3)),
    ]


class TokenCheck(Protocol):
    """Finds the users of access tokens."""

    async def find_user(self, access_token: str, now_ms: int) -> User | None:
        """Return the user of an access token, or None if the token is unknown or has expired, or
        if the user's account is disabled. Notes when the token was used."""
        ...

    async def find_revoked(self, token_hashes: Collection[bytes], now_ms: int) -> set[bytes]:
        """Return those of these hashes whose access tokens are not valid any more."""
        ...


class UsageCount(Protocol):
    """Stores and limits what users use."""

    async def add(self, row: UsageRow) -> None:
        """Store the usage of one answer."""
        ...

    async def count_request(self, counted: Sequence[CountedLimits], now_ms: int) -> UsedUp | None:
        """Count a request for each of these limits, unless one is used up: then return which."""
        ...

    async def delete_old_windows(self, now_ms: int) -> None:
        """Delete what was counted for minutes and days that no limit looks at any more."""
        ...


class Storage(Protocol):
    """The storage of a server."""

    store: Store
    """Conversations, messages and runs."""
    log: Log
    """The records of runs."""
    access_tokens: TokenCheck
    accounts: Accounts
    user_data: UserData
    usage: UsageCount
    files: Files
    """Uploads that are not yet part of a message."""
    cluster: Cluster | None
    """The other servers that share the storage; None if this server has it for itself."""

    async def open(self) -> None:
        """Connect, and create or update the tables."""
        ...

    async def close(self) -> None:
        """Finish all writes and disconnect."""
        ...

    def close_now(self) -> None:
        """Release what a process must not keep, if the event loop does not run any more."""
        ...

    async def find_problem(self) -> str:
        """Return what is wrong with the storage, or an empty string. Tries a write."""
        ...

    async def is_clock_trusted(self, now_ms: int) -> bool:
        """Return whether things may expire by this time."""
        ...

    async def clean_up(self) -> None:
        """Erase what was deleted. Called often; does nothing if there is nothing to do."""
        ...

    async def stored_bytes(self, owner: str) -> int:
        """Return the bytes that are stored for a user."""
        ...

    async def server_key(self, name: str) -> bytes:
        """Return a key that the server signs with, created when it is first needed."""
        ...

    def metrics(self) -> Sequence[Metric]:
        """Return figures for the metrics."""
        ...
