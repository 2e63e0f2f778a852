"""Connections to Valkey or Redis. The only module that imports the driver."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha1
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import redis.asyncio as driver
from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from headrace.errors import UsageError
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.outage import ConnectionLost

SCHEMES: Final = {
    "valkey": "redis",
    "valkeys": "rediss",
    "redis": "redis",
    "rediss": "rediss",
}
"""Schemes of addresses, and what the driver calls them. Those with an s use TLS."""
_COMMAND_S: Final = 20.0
_CONNECT_S: Final = 10.0
_MAX_CONNECTIONS: Final = 16
# Errors that say nothing about the command: the server has no memory or disk left, has become a
# replica, or is being moved.
_PASSING = (
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.MasterDownError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
)
_NO_DISK: Final = "MISCONF"
_LOST = (exceptions.ConnectionError, exceptions.TimeoutError, OSError, TimeoutError)


def find_log_host(url: str) -> str:
    """Return the part of a URL that may be shown: where the log is, without a password."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'localhost'}:{parts.port or 6379}{parts.path}"


class ValkeyClient:
    """Connections to one Valkey or Redis. Create it anywhere, and use it in one event loop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: Any = None

    @property
    def host(self) -> str:
        """Where the log is, without a password."""
        return find_log_host(self._url)

    async def open(self) -> None:
        """Connect. Raises `UsageError` if the server cannot be reached or refuses the user."""
        if self._client is not None:
            return
        client = self._connect(_COMMAND_S)
        try:
            await client.ping()
        except (exceptions.RedisError, OSError, ValueError) as error:
            await client.aclose()
            raise UsageError(f"cannot use the log {self.host}: {error}") from None
        self._client = client

    def _connect(self, timeout_s: float | None) -> Any:
        parts = urlsplit(self._url)
        url = urlunsplit(parts._replace(scheme=SCHEMES[parts.scheme]))
        pools: Any = driver.BlockingConnectionPool
        pool = pools.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            socket_timeout=timeout_s,
            socket_connect_timeout=_CONNECT_S,
            # Whatever is repeated is repeated here: only the caller knows whether it may be.
            retry=Retry(NoBackoff(), 0),
        )
        return driver.Redis.from_pool(pool)

    async def close(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(*_LOST, exceptions.RedisError):
                await client.aclose()

    async def execute(self, *words: Any) -> Any:
        """Execute one command. Raises `StorageFailed`."""
        return (await self.execute_all([words]))[0]

    async def read_all(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Execute commands that change nothing, or may be repeated; with a new connection if one
        was lost that had not been used for a while. Raises `StorageFailed`."""
        try:
            return await self.execute_all(commands)
        except ConnectionLost:
            return await self.execute_all(commands)

    async def execute_all(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Execute commands on one connection, one after another, and return their results. Raises
        `StorageFailed` if one fails; the others may have been executed."""
        results = await self._send(commands)
        for result in results:
            if isinstance(result, Exception):
                raise to_storage_error(result) from result
        return results

    async def run_script(
        self, script: str, calls: Sequence[Sequence[Any]]
    ) -> list[tuple[int, int]]:
        """Call a script several times; each call has the three keys of a run, then arguments.

        Returns the code and the number that each call returns. Raises `StorageFailed`.
        """
        name = sha1(script.encode(), usedforsecurity=False).hexdigest()
        commands = [("EVALSHA", name, 3, *call) for call in calls]
        results = await self._send(commands)
        missing = [
            place
            for place, result in enumerate(results)
            if isinstance(result, exceptions.NoScriptError)
        ]
        if missing:
            # The server was started since. The script comes with the call, and not before it, in
            # case the connections lead to several servers.
            again = [("EVAL", script, 3, *calls[place]) for place in missing]
            for place, result in zip(missing, await self._send(again), strict=True):
                results[place] = result
        for result in results:
            if isinstance(result, Exception):
                raise to_storage_error(result) from result
        return [(int(code), int(number)) for code, number in results]

    async def _send(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        if self._client is None:
            raise StorageFailed("the log is closed")
        try:
            pipeline = self._client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            results: list[Any] = await pipeline.execute(raise_on_error=False)
        except (exceptions.RedisError, *_LOST) as error:
            # If the server was restarted, the other connections are lost as well.
            with suppress(exceptions.RedisError, *_LOST):
                await self._client.connection_pool.disconnect(inuse_connections=False)
            raise to_storage_error(error) from error
        return results

    @asynccontextmanager
    async def subscribe(self, channel: str) -> AsyncGenerator[Any, None]:
        """Return an object whose method `listen()` iterates over the messages of a channel."""
        client = self._connect(None)
        try:
            async with client.pubsub(ignore_subscribe_messages=True) as subscription:
                await subscription.subscribe(channel)
                yield subscription
        except (exceptions.RedisError, *_LOST) as error:
            raise to_storage_error(error) from error
        finally:
            with suppress(exceptions.RedisError, *_LOST):
                await client.aclose()


def to_storage_error(error: BaseException) -> StorageFailed:
    """Return the error that callers get for one of the driver."""
    text = str(error) or type(error).__name__
    if isinstance(error, (*_LOST, *_PASSING)) or text.startswith(_NO_DISK):
        return ConnectionLost(f"the log cannot be reached: {text}")
    return StorageFailed(text)
