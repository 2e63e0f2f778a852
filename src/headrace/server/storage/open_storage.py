"""Opens the storage that an address names."""

from __future__ import annotations

from headrace.errors import UsageError
from headrace.server.storage.storage import Storage

_SCHEMES = ("postgresql://", "postgres://")


def open_storage(url: str) -> Storage:
    """Return the storage at an address such as `postgresql://user@host/name`. Nothing is connected
    yet. Raises `UsageError` for another kind of address, or if the extra is not installed."""
    if not url.startswith(_SCHEMES):
        # Without the address: it may contain a password.
        raise UsageError("the store must be an address that begins with postgresql://")
    try:
        from headrace.server.storage.postgres.storage import PostgresStorage  # noqa: PLC0415
    except ImportError as error:
        text = f"PostgreSQL needs an extra: pip install 'headrace[postgres]' ({error.name})"
        raise UsageError(text) from None
    return PostgresStorage(url)
