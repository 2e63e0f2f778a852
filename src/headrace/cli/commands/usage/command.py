"""Runs `headrace usage`: sums up the tokens and the cost of a server's answers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from headrace.cli.option import data_folder
from headrace.cli.store_option import call_store, find_store
from headrace.cli.terminal.safe_text import one_line
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.server.storage.postgres.pool import Pool
    from headrace.server.storage.usage.usage_table import UsageSum

_NUMBERS = ("answers", "input", "cached", "output", "reasoning", "cost")


def run(options: Namespace) -> int:
    """Print the sums."""
    by = [name.strip() for name in options.by.split(",") if name.strip()]
    sums = _read(options, by)
    if options.json:
        for row in sums:
            fields = msgspec.to_builtins(row)
            groups = dict(zip(by, fields.pop("group"), strict=True))
            print(msgspec.json.encode({**groups, **fields}).decode())
    elif sums:
        _print_table(by, sums)
    else:
        print("no usage so far")
    return 0


def _read(options: Namespace, by: Sequence[str]) -> list[UsageSum]:
    from headrace.server.service import now_ms
    from headrace.server.storage.sqlite.database import Database
    from headrace.server.storage.store import SQLiteStore
    from headrace.server.storage.usage.usage_table import UsageTable

    since_ms = 0 if options.since is None else now_ms() - int(options.since * 1000)
    store = find_store(options.store)
    if store is not None:
        return call_store(store, partial(_sum_up, by=by, since_ms=since_ms, owner=options.user))
    path = data_folder(options.data) / "headrace.db"
    if not path.exists():
        raise UsageError(f"there is no database at {path}: give the folder with --data")
    database = Database(path)
    try:
        # Brings the tables of an older version up to date.
        SQLiteStore(database)
        return UsageTable(database).sum_up(by, since_ms=since_ms, owner=options.user)
    finally:
        database.close()


async def _sum_up(
    pool: Pool, by: Sequence[str], since_ms: int, owner: str | None
) -> list[UsageSum]:
    from headrace.server.storage.postgres.tables.usage import PostgresUsage

    return await PostgresUsage(pool).sum_up(by, since_ms=since_ms, owner=owner)


def _print_table(by: Sequence[str], sums: Sequence[UsageSum]) -> None:
    lines = [[*by, *_NUMBERS], *(_format(row) for row in sums)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.ljust(width) if place < len(by) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    unpriced = sum(row.unpriced for row in sums)
    if unpriced:
        print(f"+ the cost of {unpriced} answer{'s' * (unpriced != 1)} is not known")


def _format(row: UsageSum) -> list[str]:
    cost = f"${row.cost:.4f}" + "+" * bool(row.unpriced)
    counts = (
        row.answers,
        row.input_tokens,
        row.cached_tokens,
        row.output_tokens,
        row.reasoning_tokens,
    )
    return [*(one_line(value) for value in row.group), *(f"{count:,}" for count in counts), cost]
