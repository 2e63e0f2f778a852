"""Opens the storage that an address names."""

from __future__ import annotations

from importlib.util import find_spec

from headrace.errors import UsageError
from headrace.server.storage.storage import Storage

_SCHEMES = ("postgresql://", "postgres://")
_LOG_SCHEMES = ("valkey://", "valkeys://", "redis://", "rediss://")


def open_storage(url: str, lease_s: float, log_url: str | None = None) -> Storage:
    """Return the storage at an address such as `postgresql://user@host/name`.

    Nothing is connected yet. `lease_s` is the time after which other servers take the runs of one
    that is gone. `log_url` is the address of a Valkey or Redis for the records of live runs.
    Raises `UsageError` for another kind of address, or if the extra is not installed.
    """
    check_store_url(url)
    if log_url is not None:
        check_log_url(log_url)
    from headrace.server.storage.postgres.storage import PostgresStorage  # noqa: PLC0415

    return PostgresStorage(url, log_url=log_url, lease_s=lease_s)


def check_store_url(url: str) -> None:
    """Raise `UsageError` if there is no storage for an address, or if its extra is not
    installed."""
    if not url.startswith(_SCHEMES):
        # Without the address: it may contain a password.
        raise UsageError("the store must be an address that begins with postgresql://")
    if find_spec("asyncpg") is None:
        raise UsageError("PostgreSQL needs an extra: pip install 'headrace[postgres]'")


def check_log_url(url: str) -> None:
    """Raise `UsageError` if there is no log for an address, or if its extra is not installed."""
    if not url.startswith(_LOG_SCHEMES):
        raise UsageError("the log must be an address that begins with valkey:// or redis://")
    if find_spec("redis") is None:
        raise UsageError("Valkey needs an extra: pip install 'headrace[valkey]'")
