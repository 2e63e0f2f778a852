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
_VARIABLE = "HEADRACE_STORE"


def add_store(command: ArgumentParser) -> None:
    """Declare the option."""
    command.add_argument(
        "--store",
        metavar="URL",
        help="a PostgreSQL database that several servers share, as postgresql://user@host/name,"
        f" instead of a data folder (default: the variable {_VARIABLE}, which keeps a password out"
        " of the list of processes; needs the extra postgres)",
    )


def find_store(given: str | None) -> str | None:
    """Return the address of the database, or None if a data folder is used."""
    return given or os.environ.get(_VARIABLE) or None


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
