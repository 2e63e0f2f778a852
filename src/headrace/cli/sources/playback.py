"""Opens what is to be replayed: a recorded stream or a stored run."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from headrace.cli.option import data_folder
from headrace.cli.sources.reads import ReadClock
from headrace.cli.sources.source import STDIN, Wanted, open_source
from headrace.cli.store_option import find_log, find_store
from headrace.errors import InputError
from headrace.events import Record
from headrace.server.storage.open_storage import check_log_url, check_store_url
from headrace.server.storage.stored_run import StoredRun, find_run, looks_like_run
from headrace.wire.decode import decode


class Playback:
    """The records of one stream or run, to be read once. `run` is None for a stream."""

    def __init__(self, name: str, records: Iterator[Record], run: StoredRun | None) -> None:
        self.name = name
        self.records = records
        self.run = run
        self.is_live = name == STDIN
        """Whether it comes while we wait, and has its pace already."""
        self.opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.close()


def open_playback(name: str, options: Namespace, wanted: Wanted) -> Playback:
    """Open the file of this name, or else the stored run: in the database that the options name, or
    in the data folder.

    Raises `InputError` if it is neither, and `OSError` if the file cannot be read.
    """
    is_file = name == STDIN or Path(name).exists()
    if is_file:
        return _stream(name, wanted)
    if not looks_like_run(name):
        raise InputError("no such file or run; a run is named by its id (run_…, msg_…), or `last`")
    store = find_store(options.store)
    if store is None:
        run = find_run(data_folder(options.data), name)
    else:
        run = _find_in_store(store, find_log(options.log), name)
    return Playback(run.id, iter(run.records), run)


def _find_in_store(store: str, log: str | None, name: str) -> StoredRun:
    """Find a run in PostgreSQL; its records may be in a log of their own while it is live."""
    check_store_url(store)
    if log is not None:
        check_log_url(log)
    from headrace.server.storage.postgres.storage import PostgresStorage
    from headrace.server.storage.postgres.stored_run import find_stored_run

    async def main() -> StoredRun:
        storage = PostgresStorage(store, log_url=log)
        await storage.open_to_read()
        try:
            return await find_stored_run(storage.pool, storage.log, name)
        finally:
            await storage.close()

    return asyncio.run(main())


def _stream(name: str, wanted: Wanted) -> Playback:
    opened = ExitStack()
    stream = opened.enter_context(open_source(name, wanted))
    clock = ReadClock(stream.reads)
    records = decode(clock, stream.dialect, clock=clock, framing=stream.framing)
    playback = Playback(name, records, None)
    playback.opened = opened
    return playback
