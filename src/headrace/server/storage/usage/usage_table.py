"""The table of usage: one row for each answer, with its tokens and its cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from headrace.errors import UsageError
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.usage.limits import CountedLimits, quota_key
from headrace.server.storage.usage.windows import (
    UsedUp,
    add_to_windows,
    count_request,
    delete_old_windows,
)
from headrace.usage import Usage

if TYPE_CHECKING:
    from headrace.messages import Message
    from headrace.server.storage.store import RunRow

GROUPS: Final = ("user", "model", "name", "door", "day", "month", "outcome")
"""What usage can be summed up by."""
_COLUMNS: Final = {
    "user": "owner",
    "day": "date(ended_ms / 1000, 'unixepoch')",
    "month": "strftime('%Y-%m', ended_ms / 1000, 'unixepoch')",
}


class UsageRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one answer has used."""

    owner: str
    """The user."""
    door: str
    """The protocol of the client."""
    name: str
    """The name that the client asked for."""
    model: str
    """The model that answered, as `provider:model`."""
    started_ms: int
    ended_ms: int
    outcome: str
    """Why the answer ended: a finish reason, the category of an error, or `left`."""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    """Cost in US dollars, if it is known."""
    is_estimated: bool = False
    quota_id: str | None = None
    """Id of the quota of the access token, which counts this too. It is not stored in the row."""

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    @property
    def counted_keys(self) -> tuple[str, ...]:
        """What the answer is counted under, for limits: in the same order as a request, because
        PostgreSQL locks the rows."""
        return (self.owner,) if self.quota_id is None else (quota_key(self.quota_id), self.owner)

    @classmethod
    def create(cls, *, usage: Usage, **fields: Any) -> Self:
        """Create the row of an answer with this usage."""
        return cls(
            **fields,
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_input_tokens,
            output_tokens=usage.output_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            cost=usage.cost,
            is_estimated=usage.is_estimated,
        )


STORED_FIELDS: Final = tuple(name for name in UsageRow.__struct_fields__ if name != "quota_id")
"""The columns of the table."""


class _RunRequest(msgspec.Struct, frozen=True):
    """What is known here of the request of a run."""

    door: str = "headrace"
    quota_id: str | None = None


def usage_of_run(run: RunRow, message: Message, ended_ms: int) -> UsageRow:
    """Return the row of a run that is stored."""
    turn = message.turns[-1] if message.turns else None
    model = run.model if turn is None else ":".join(filter(None, (turn.provider, turn.model)))
    end = message.error.category if message.error is not None else None
    finish = None if message.finish is None else message.finish.word
    request = msgspec.json.decode(run.request or "{}", type=_RunRequest)
    return UsageRow.create(
        owner=run.owner,
        door=request.door,
        name=run.model,
        model=model or run.model,
        started_ms=run.created_ms,
        ended_ms=ended_ms,
        outcome=end or finish or "left",
        usage=message.usage,
        quota_id=request.quota_id,
    )


class UsageSum(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of several answers together."""

    group: tuple[str, ...]
    """The values that they have in common."""
    answers: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float
    unpriced: int
    """Answers whose cost is not known."""


def create_usage_table(connection: sqlite3.Connection) -> None:
    """Create the table. Called by a migration."""
    connection.execute(
        "CREATE TABLE usage_rows (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, door TEXT NOT NULL,"
        " name TEXT NOT NULL, model TEXT NOT NULL, started_ms INTEGER NOT NULL,"
        " ended_ms INTEGER NOT NULL, outcome TEXT NOT NULL, input_tokens INTEGER,"
        " cached_tokens INTEGER, output_tokens INTEGER, reasoning_tokens INTEGER, cost REAL,"
        " is_estimated INTEGER NOT NULL)"
    )
    connection.execute(
        "CREATE TABLE usage_windows (owner TEXT NOT NULL, window TEXT NOT NULL,"
        " requests INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0,"
        " cost REAL NOT NULL DEFAULT 0, PRIMARY KEY (owner, window)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX usage_by_owner ON usage_rows (owner, ended_ms)")


class UsageTable:
    """The table of usage in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, row: UsageRow) -> None:
        """Store the usage of one answer."""
        await self._database.write(lambda connection: insert_usage(connection, row))

    async def count_request(self, counted: Sequence[CountedLimits], now_ms: int) -> UsedUp | None:
        """Count a request for each of these limits, unless one is used up: then return which. What
        goes on at the same time is not counted yet, so that a limit can be exceeded by that
        much."""
        return await self._database.write(lambda c: count_request(c, counted, now_ms))

    async def delete_old_windows(self, now_ms: int) -> None:
        """Delete what was counted for minutes and days that no limit looks at any more."""
        await self._database.write(lambda c: delete_old_windows(c, now_ms))

    def sum_up(
        self, by: Sequence[str], *, since_ms: int = 0, owner: str | None = None
    ) -> list[UsageSum]:
        """Sum up the usage by these of `GROUPS`, the most expensive first. Raises `UsageError` for
        another name."""
        check_groups(by)
        columns = [_COLUMNS.get(name, name) for name in by]
        query = (
            f"SELECT {''.join(column + ', ' for column in columns)}"
            " count(*), total(input_tokens), total(cached_tokens), total(output_tokens),"
            " total(reasoning_tokens), total(cost), sum(cost IS NULL) FROM usage_rows"
            " WHERE ended_ms >= ? AND (? IS NULL OR owner = ?)"
            + (f" GROUP BY {', '.join(columns)}" if columns else "")
            + " ORDER BY total(cost) DESC, count(*) DESC"
        )
        rows = self._database.write_now(
            lambda connection: connection.execute(query, (since_ms, owner, owner)).fetchall()
        )
        return [to_sum(tuple(row), len(columns)) for row in rows if row[len(columns)]]


def insert_usage(connection: sqlite3.Connection, row: UsageRow) -> None:
    """Insert the row of one answer, and add it to the windows of its user and its token."""
    marks = ", ".join("?" * len(STORED_FIELDS))
    values = [getattr(row, name) for name in STORED_FIELDS]
    connection.execute(
        f"INSERT INTO usage_rows ({', '.join(STORED_FIELDS)}) VALUES ({marks})", values
    )
    for key in row.counted_keys:
        add_to_windows(connection, key, row.ended_ms, row.tokens, row.cost or 0.0)


def check_groups(by: Sequence[str]) -> None:
    """Raise `UsageError` if usage cannot be summed up by one of these."""
    for name in by:
        if name not in GROUPS:
            raise UsageError(f"usage cannot be listed by {name!r}: use {', '.join(GROUPS)}")


def to_sum(row: tuple[Any, ...], groups: int) -> UsageSum:
    """Return the sum of a row whose first `groups` values are what it is summed up by."""
    answers, given, cached, produced, reasoning, cost, unpriced = row[groups:]
    return UsageSum(
        group=tuple(str(value) for value in row[:groups]),
        answers=answers,
        input_tokens=int(given),
        cached_tokens=int(cached),
        output_tokens=int(produced),
        reasoning_tokens=int(reasoning),
        cost=cost,
        unpriced=unpriced,
    )
