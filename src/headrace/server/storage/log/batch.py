"""Records of a run that are appended together, and the queue in which they wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from headrace.events import Record, RunClosed, encode_record
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log.log import Done

_MAX_BATCH_BYTES: Final = 4_000_000
_ROW_BYTES: Final = 65_536
"""Least size of a row in the store, if the run has that many records."""


class Batch(NamedTuple):
    """Encoded records of one run that follow one another."""

    run_id: str
    epoch: int
    first_seq: int
    last_seq: int
    is_closing: bool
    body: bytes
    """One record a line."""


def encode_batch(run_id: str, epoch: int, records: Sequence[Record]) -> Batch:
    """Encode records of one run. Raises `StorageFailed` if they leave a gap, or follow the one that
    closes the run."""
    first = records[0].seq
    for place, record in enumerate(records):
        if record.seq != first + place:
            raise StorageFailed(f"record {record.seq} of run {run_id} does not follow")
    if any(isinstance(record.event, RunClosed) for record in records[:-1]):
        raise StorageFailed(f"run {run_id} is closed: no record can follow")
    is_closing = isinstance(records[-1].event, RunClosed)
    body = b"\n".join(map(encode_record, records))
    return Batch(run_id, epoch, first, records[-1].seq, is_closing, body)


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Return records that follow one another as one batch."""
    first, last = batches[0], batches[-1]
    if first is last:
        return first
    body = b"\n".join(batch.body for batch in batches)
    return last._replace(first_seq=first.first_seq, body=body)


def to_rows(batches: Sequence[Batch]) -> list[Batch]:
    """Join the small appends of a live run into the larger rows of the store."""
    rows: list[Batch] = []
    group: list[Batch] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += len(batch.body)
        if size >= _ROW_BYTES:
            rows.append(join_batches(group))
            group, size = [], 0
    return [*rows, join_batches(group)] if group else rows


class Entry(NamedTuple):
    """Records that wait to be appended, and who wants to know about it."""

    batch: Batch
    done: Done


class Group:
    """Records of one run that are appended as one, from one or more entries."""

    def __init__(self, entry: Entry) -> None:
        self._entries = [entry]
        self._is_full = False

    def add(self, entry: Entry) -> bool:
        """Add records that follow. Returns False if they do not, or are for the next append."""
        last, given = self._entries[-1].batch, entry.batch
        follows = given.first_seq == last.last_seq + 1 and given.epoch == last.epoch
        # Whatever comes after an entry that does not follow must wait too.
        self._is_full = self._is_full or not follows or last.is_closing
        if self._is_full:
            return False
        self._entries.append(entry)
        return True

    def join(self) -> Batch:
        """Return all records as one batch."""
        return join_batches([entry.batch for entry in self._entries])

    def finish(self, error: Exception | None) -> None:
        """Tell everyone who gave records whether they are stored."""
        for entry in self._entries:
            entry.done(error)


class BatchQueue:
    """Records of all runs that wait to be appended."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, batch: Batch, done: Done) -> None:
        """Add records at the end."""
        self._entries.append(Entry(batch, done))

    def take(self) -> list[Group]:
        """Return the waiting records, joined by run. What does not follow, or would make the
        append too large, stays."""
        groups: dict[str, Group] = {}
        left: list[Entry] = []
        size = 0
        for entry in self._entries:
            group = groups.get(entry.batch.run_id)
            size += len(entry.batch.body)
            if size > _MAX_BATCH_BYTES and groups:
                left.append(entry)
            elif group is None:
                groups[entry.batch.run_id] = Group(entry)
            elif not group.add(entry):
                left.append(entry)
        self._entries = left
        return list(groups.values())
