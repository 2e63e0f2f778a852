"""Runs `headrace user export` and `headrace user delete`: everything of a user as a whole."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from headrace.cli.account_storage import call_user_storage
from headrace.cli.option import data_folder
from headrace.cli.store_option import find_store
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.server.accounts.user_deletion import UserStorage
    from headrace.server.storage.store import RunRow

_WAIT_S = 60.0
_PAUSE_S = 0.2


def export(options: Namespace) -> None:
    """Write everything of a user to a new file, or to standard output."""

    async def write(storage: UserStorage) -> None:
        from headrace.server.http.user_export import export_user

        with _open_output(options.file) as file:
            async for line in export_user(storage, options.name):
                file.write(line)

    call_user_storage(options, write)


def _open_output(name: str) -> BinaryIO:
    """Open a file that only its owner can read."""
    if name == "-":
        return os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    try:
        return os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from None


def delete(options: Namespace) -> None:
    """Delete everything of a user. A server that runs does it; otherwise this command."""
    _confirm(options)
    store = find_store(options.store)
    if store is None and _delete_without_server(data_folder(options.data), options.name):
        return
    is_gone = call_user_storage(options, lambda storage: _request(storage, options.name))
    if not is_gone:
        print(f"The account of {options.name} is deleted. The rest is when a server runs.")


def _confirm(options: Namespace) -> None:
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("this deletes everything of the user: confirm it with --yes")
    typed = input(f"This deletes everything of {options.name}. Type the name to confirm: ")
    if typed != options.name:
        raise UsageError("nothing was deleted")


def _unknown(name: str) -> UsageError:
    return UsageError(f"nothing is stored of a user {name}")


def _delete_without_server(folder: Path, name: str) -> bool:
    """Delete everything of a user from a data folder. Returns False if a server uses the folder."""
    from headrace.server.service import now_ms
    from headrace.server.storage.data_folder import FolderHeld
    from headrace.server.storage.sqlite_storage import SQLiteStorage

    try:
        storage = SQLiteStorage(folder, now_ms)
    except FolderHeld:
        return False

    async def work() -> None:
        from headrace.server.accounts.user_deletion import UserStorage, finish_deletions

        user_data = storage.user_data
        try:
            if not await user_data.request_deletion(name, now_ms()):
                raise _unknown(name)
            # No server runs, so nobody works on them.
            await user_data.abandon_runs(name)
            places = UserStorage(storage.store, storage.files, storage.accounts, user_data)
            # Nothing can be arriving either.
            await finish_deletions(places, _ignore, now_ms() + 1)
            await storage.clean_up()
        finally:
            await storage.close()

    asyncio.run(work())
    return True


async def _ignore(run: RunRow) -> None:
    """Do nothing: no server works on the run."""


async def _request(storage: UserStorage, name: str) -> bool:
    """Ask the server that runs to delete a user, and wait for it. Returns whether it is done."""
    from headrace.server.service import now_ms

    if not await storage.user_data.request_deletion(name, now_ms()):
        raise _unknown(name)
    until_s = time.monotonic() + _WAIT_S
    while time.monotonic() < until_s:
        waiting = await storage.user_data.requested_deletions()
        if all(one.is_emptied for one in waiting if one.owner == name):
            return True
        await asyncio.sleep(_PAUSE_S)
    return False
