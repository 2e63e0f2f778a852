"""A pool of connections to PostgreSQL. The only module that imports the driver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import asyncpg  # pyright: ignore[reportMissingTypeStubs]

from headrace.errors import UsageError
from headrace.log import get_logger
from headrace.server.storage.errors import SearchFailed, StorageFailed, TextRefused
from headrace.server.storage.outage import ConnectionLost

Connection: TypeAlias = Any
"""A connection of the driver, which has no types."""
MAX_CONNECTIONS: Final = 12
"""Most connections of one server for reads and writes; two more are for the log and for wakes."""
_COMMAND_S: Final = 20.0
_CONNECT_S: Final = 10.0
_RELEASE_S: Final = 5.0
# The server ends a transaction that does nothing for this long, so that a stopped process holds no
# lock for ever.
_IDLE_TRANSACTION_MS: Final = 15_000
# Everything that the driver raises for a connection that is gone.
_LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
# Classes of errors that say nothing about the statement: connection, resources, operator, system.
_LOST_CLASSES: Final = ("08", "53", "57", "58", "XX")
# A text with a NUL.
_REFUSED_TEXT: Final = "22021"
_driver: Any = asyncpg  # it has no types
_logger = get_logger("server")


def find_host(url: str) -> str:
    """Return the part of a URL that may be shown: where the database is, without a password."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"


class Pool:
    """Connections to one database. Create it anywhere, and `open()` it in the event loop that uses
    it."""

    def __init__(self, url: str, *, max_connections: int = MAX_CONNECTIONS) -> None:
        self._url = url
        self._max_connections = max_connections
        self._pool: Any = None
        self.commits = 0
        """Number of transactions committed so far."""

    async def open(self) -> None:
        """Connect. Raises `UsageError` if the database cannot be reached or refuses the user."""
        if self._pool is not None:
            return
        try:
            self._pool = await _driver.create_pool(
                self._url,
                min_size=1,
                max_size=self._max_connections,
                command_timeout=_COMMAND_S,
                timeout=_CONNECT_S,
                server_settings=_SERVER_SETTINGS,
            )
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, ValueError) as error:
            # The text of the driver has no password, but the URL has.
            raise UsageError(f"cannot use the database {find_host(self._url)}: {error}") from None

    async def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            try:
                async with asyncio.timeout(_CONNECT_S):
                    await pool.close()
            except (TimeoutError, *_LOST):
                pool.terminate()

    async def connect(self) -> Connection:
        """Return a connection outside of the pool, which the caller closes."""
        with _ErrorTranslation():
            return await _driver.connect(
                self._url,
                command_timeout=_COMMAND_S,
                timeout=_CONNECT_S,
                server_settings=_SERVER_SETTINGS,
            )

    async def fetch(self, query: str, *values: Any) -> list[Any]:
        """Return all rows of a query. Raises `StorageFailed`."""
        async with self._acquire() as connection:
            with _ErrorTranslation():
                rows: list[Any] = await connection.fetch(query, *values)
                return rows

    async def execute(self, query: str, *values: Any) -> int:
        """Execute a statement; return how many rows it has changed. Raises `StorageFailed`."""
        async with self._acquire() as connection:
            with _ErrorTranslation():
                status: str = await connection.execute(query, *values)
        self.commits += 1
        return count_rows(status)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection, None]:
        """Return a connection inside a transaction, which is committed at the end of the block.

        Errors of the database become `StorageFailed`; others roll back and are raised as they are.
        """
        async with self._acquire() as connection:
            with _ErrorTranslation():
                async with connection.transaction():
                    yield connection
        self.commits += 1

    async def search(self, query: str, values: tuple[Any, ...], timeout_s: float) -> list[Any]:
        """Return the rows of a query that is ended after `timeout_s`. Raises `SearchFailed`."""
        async with self._acquire() as connection:
            try:
                async with connection.transaction(readonly=True):
                    # Which plan is the best depends on how common the words are.
                    await connection.execute(
                        f"SET LOCAL statement_timeout = {timeout_s * 1000:.0f};"
                        " SET LOCAL plan_cache_mode = force_custom_plan"
                    )
                    rows: list[Any] = await connection.fetch(query, *values)
                    return rows
            except asyncpg.QueryCanceledError:
                raise SearchFailed("the search took too long: use other words") from None
            except (asyncpg.PostgresError, *_LOST) as error:
                raise to_storage_error(error) from error

    @asynccontextmanager
    async def _acquire(self) -> AsyncGenerator[Connection, None]:
        if self._pool is None:
            raise StorageFailed("the database is closed")
        try:
            connection = await self._pool.acquire(timeout=_COMMAND_S)
        except (asyncpg.PostgresError, *_LOST) as error:
            raise to_storage_error(error) from error
        try:
            yield connection
        finally:
            await asyncio.shield(_release(self._pool, connection))


async def _release(pool: Any, connection: Connection) -> None:
    """Give a connection back. One that is broken has left the pool already, and the driver raises
    errors of several kinds for that."""
    with suppress(Exception):
        await pool.release(connection, timeout=_RELEASE_S)


class _ErrorTranslation:
    """Context in which errors of the driver become `StorageFailed`."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (asyncpg.PostgresError, *_LOST)) and not isinstance(
            error, StorageFailed
        ):
            raise to_storage_error(error) from error


def to_storage_error(error: BaseException) -> StorageFailed:
    """Return the error that callers get for one of the driver."""
    text = str(error) or type(error).__name__
    state = getattr(error, "sqlstate", None) or ""
    if isinstance(error, _LOST) or state[:2] in _LOST_CLASSES:
        return ConnectionLost(f"the database cannot be reached: {text}")
    if state == _REFUSED_TEXT:
        return TextRefused(text)
    return StorageFailed(text)


def count_rows(status: str) -> int:
    """Return the number of rows in the status of a statement, such as `UPDATE 3`."""
    last = status.rpartition(" ")[2]
    return int(last) if last.isdigit() else 0


def to_text(text: str) -> str:
    """Return a text that PostgreSQL can store: it does not allow NUL characters."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


_SERVER_SETTINGS: Final = {
    "application_name": "headrace",
    "idle_in_transaction_session_timeout": str(_IDLE_TRANSACTION_MS),
    "timezone": "UTC",
}
