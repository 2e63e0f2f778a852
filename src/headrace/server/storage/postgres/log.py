"""The log in PostgreSQL.

Each run has a head: the number of its last record, and the epoch of the server that may append.
An append moves the head and inserts the records in one statement, so a server that has lost its run
cannot add a character. Records that many runs log at about the same time are one statement.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from headrace.events import Record, decode_record
from headrace.server.storage.cluster import WATCH_S
from headrace.server.storage.errors import RunTaken, StorageFailed
from headrace.server.storage.log.batch import Batch, to_rows
from headrace.server.storage.log.batch_writer import BatchTail, BatchWriter
from headrace.server.storage.outage import ConnectionLost
from headrace.server.storage.postgres.pool import Connection, Pool, to_storage_error

LOG_CHANNEL: Final = "headrace_log"
"""Channel of the notifications that wake servers which follow a run."""
_GATHER_S: Final = 0.003
_PAGE_ROWS: Final = 200

# A notification has at most 8,000 bytes; ids of a hundred runs are shorter.
_APPEND: Final = """
WITH given AS (
    SELECT * FROM unnest($1::text[], $2::int[], $3::bigint[], $4::bigint[], $5::bool[], $6::bytea[])
        AS given (run_id, epoch, first_seq, last_seq, is_closing, body)
), moved AS (
    UPDATE log_heads AS head SET last_seq = given.last_seq, is_closed = given.is_closing FROM given
    WHERE head.run_id = given.run_id AND head.epoch = given.epoch
        AND head.last_seq = given.first_seq - 1 AND NOT head.is_closed
    RETURNING head.run_id, head.watched_until
), added AS (
    INSERT INTO log_chunks (run_id, first_seq, last_seq, body)
    SELECT run_id, first_seq, last_seq, body FROM given JOIN moved USING (run_id)
), groups AS (
    SELECT run_id, (row_number() OVER () - 1) / 100 AS number FROM moved WHERE watched_until > now()
), told AS (
    SELECT pg_notify('headrace_log', string_agg(run_id, ' ')) FROM groups GROUP BY number
)
SELECT run_id, (SELECT count(*) FROM told) AS told FROM moved
"""


async def append_batches(connection: Connection, batches: Sequence[Batch]) -> set[str]:
    """Append records of different runs; return the runs whose records were accepted."""
    columns = [list(column) for column in zip(*batches, strict=True)]
    rows = await connection.fetch(_APPEND, *columns)
    return {row["run_id"] for row in rows}


async def explain_refusal(connection: Connection, batch: Batch) -> StorageFailed | None:
    """Return why records were not accepted; None if they are stored already, because the answer to
    an earlier attempt was lost."""
    head = await connection.fetchrow("SELECT * FROM log_heads WHERE run_id = $1", batch.run_id)
    if head is None:
        return StorageFailed(f"run {batch.run_id} has no log")
    is_same_writer = head["epoch"] == batch.epoch
    if is_same_writer and head["last_seq"] == batch.last_seq:
        row = await connection.fetchrow(
            "SELECT body FROM log_chunks WHERE run_id = $1 AND first_seq = $2",
            batch.run_id,
            batch.first_seq,
        )
        if row is not None and row["body"] == batch.body:
            return None
    run, first = batch.run_id, batch.first_seq
    if not is_same_writer:
        return RunTaken(f"another server has run {run}: record {first} is refused")
    if head["is_closed"]:
        return StorageFailed(f"run {run} is closed: record {first} cannot follow")
    return StorageFailed(f"record {first} of run {run} does not follow {head['last_seq']}")


async def move_batches(connection: Connection, batches: Sequence[Batch]) -> None:
    """Store records of one run that its server has logged elsewhere. Those that are stored already,
    by an attempt whose answer was lost, are skipped."""
    for batch in to_rows(batches):
        head = await connection.fetchrow(
            "SELECT last_seq FROM log_heads WHERE run_id = $1 FOR UPDATE", batch.run_id
        )
        if head is not None and batch.last_seq <= head["last_seq"]:
            continue
        if not await append_batches(connection, [batch]):
            error = await explain_refusal(connection, batch)
            if error is not None:
                raise error


async def create_head(connection: Connection, run_id: str, epoch: int = 0) -> None:
    """Create the head of a run's log, if it has none."""
    await connection.execute(
        "INSERT INTO log_heads (run_id, epoch) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        run_id,
        epoch,
    )


class PostgresLog:
    """Records of all runs in PostgreSQL; see `Log`. Several servers can have one at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._writer = _Writer(pool)

    @property
    def batches(self) -> BatchWriter:
        """What appends the records."""
        return self._writer.batches

    @property
    def refused(self) -> int:
        """Number of appends that were refused because another server has the run."""
        return self._writer.refused

    async def close(self) -> None:
        """Finish the appends that wait, and close the connection for them."""
        await self._writer.close()

    def tail(self, run_id: str, epoch: int = 0) -> BatchTail:
        return self._writer.batches.tail(run_id, epoch)

    async def append(self, run_id: str, records: Sequence[Record], epoch: int = 0) -> None:
        await self._writer.batches.append(run_id, records, epoch)

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        bodies: list[bytes] = []
        size, seq = 0, after
        while True:
            rows = await self._pool.fetch(
                "SELECT first_seq, last_seq, body FROM log_chunks WHERE run_id = $1"
                " AND first_seq > coalesce((SELECT max(first_seq) FROM log_chunks"
                "  WHERE run_id = $1 AND first_seq <= $2 + 1) - 1, 0)"
                " ORDER BY first_seq LIMIT $3",
                run_id,
                seq,
                _PAGE_ROWS,
            )
            for row in rows:
                lines = row["body"].split(b"\n")[max(0, seq + 1 - row["first_seq"]) :]
                for line in lines:
                    bodies.append(line)
                    size += len(line)
                    if max_bytes is not None and size >= max_bytes:
                        return [decode_record(body) for body in bodies]
                seq = max(seq, row["last_seq"])
            if len(rows) < _PAGE_ROWS:
                return [decode_record(body) for body in bodies]

    async def delete(self, run_ids: Sequence[str]) -> None:
        await self._pool.execute("DELETE FROM log_heads WHERE run_id = ANY($1)", list(run_ids))

    async def watch(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Ask for notifications about these runs for `WATCH_S`; return the number of the last
        record of each."""
        rows = await self._pool.fetch(
            "UPDATE log_heads SET watched_until = now() + make_interval(secs => $2)"
            " WHERE run_id = ANY($1) RETURNING run_id, last_seq",
            list(run_ids),
            WATCH_S,
        )
        return {row["run_id"]: row["last_seq"] for row in rows}

    async def last_seqs(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Return the number of the last record of each of these runs."""
        rows = await self._pool.fetch(
            "SELECT run_id, last_seq FROM log_heads WHERE run_id = ANY($1)", list(run_ids)
        )
        return {row["run_id"]: row["last_seq"] for row in rows}


class _Writer:
    """Appends batch after batch on a connection of its own, at most one statement at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.batches = BatchWriter(self._append, "the database", _GATHER_S)
        """Takes the records of all runs."""
        self._connection: Connection | None = None
        self.refused = 0
        """Number of appends that were refused because another server has the run."""

    async def close(self) -> None:
        """Finish what waits."""
        await self.batches.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                await connection.close(timeout=2.0)

    async def _append(self, batches: list[Batch]) -> list[Exception | None]:
        if self._connection is None:
            self._connection = await self._pool.connect()
        connection = self._connection
        try:
            accepted = await append_batches(connection, batches)
            self._pool.commits += 1
            return [
                None if batch.run_id in accepted else await self._append_alone(connection, batch)
                for batch in batches
            ]
        except ConnectionLost:
            raise
        except Exception as error:
            await self._drop_connection()
            raise to_storage_error(error) from error

    async def _append_alone(self, connection: Connection, batch: Batch) -> StorageFailed | None:
        """Append records that were not accepted with the others: to a run that has no log yet, or
        for the second time."""
        if batch.first_seq == 1:
            await create_head(connection, batch.run_id, batch.epoch)
            if await append_batches(connection, [batch]):
                return None
        error = await explain_refusal(connection, batch)
        self.refused += isinstance(error, RunTaken)
        return error

    async def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
