"""The option `--store`: a database that several servers share, instead of a data folder."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from headrace.server.storage.postgres.pool import Pool

T = TypeVar("T")
STORE_VARIABLE = "HEADRACE_STORE"
LOG_VARIABLE = "HEADRACE_LOG"


def add_store(command: ArgumentParser) -> None:
    """Declare the option."""
    command.add_argument(
        "--store",
        metavar="URL",
        help="a PostgreSQL database that several servers share, as postgresql://user@host/name,"
        f" instead of a data folder (default: the variable {STORE_VARIABLE}, which keeps a password"
        " out of the list of processes; needs the extra postgres)",
    )


def find_store(given: str | None) -> str | None:
    """Return the address of the database, or None if a data folder is used."""
    return given or os.environ.get(STORE_VARIABLE) or None


def add_log(command: ArgumentParser) -> None:
    """Declare the option for the log of live runs."""
    command.add_argument(
        "--log",
        metavar="URL",
        help="a Valkey or Redis beside --store for the records of live answers, as"
        f" valkey://host:6379 (default: the variable {LOG_VARIABLE}; needs the extra valkey)",
    )


def find_log(given: str | None) -> str | None:
    """Return the address of the log of live runs, or None if they are in the store."""
    return given or os.environ.get(LOG_VARIABLE) or None


def show_store(url: str) -> str:
    """Return where a database is, without a password."""
    from headrace.server.storage.postgres.pool import find_host

    return f"postgresql://{find_host(url)}"


def call_store(url: str, work: Callable[[Pool], Awaitable[T]]) -> T:
    """Open a database, do some work, and close it. Creates or updates the tables. Raises
    `UsageError` if the database cannot be used."""
    from headrace.server.storage.open_storage import check_store_url

    check_store_url(url)
    from headrace.server.storage.postgres.pool import Pool
    from headrace.server.storage.postgres.schema import migrate

    async def main() -> T:
        pool = Pool(url)
        await pool.open()
        try:
            await migrate(pool)
            return await work(pool)
        finally:
            await pool.close()

    return asyncio.run(main())
