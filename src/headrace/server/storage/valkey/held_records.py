"""Records that Valkey has accepted and has perhaps not written to its disk yet.

The server that works on a run keeps them until they are on the disk, to append them again if a
power cut has shortened the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headrace.server.storage.log.batch import Batch


class HeldRun:
    """The records of one run that may still be lost."""

    def __init__(self, epoch: int, base: int) -> None:
        self.epoch = epoch
        self.base = base
        """Number of the last record that is in the store."""
        self.batches: list[Batch] = []

    @property
    def first_seq(self) -> int | None:
        """Number of the first record that is held."""
        return self.batches[0].first_seq if self.batches else None

    def after(self, last_seq: int) -> list[Batch] | None:
        """Return the batches that follow a record; None if some are not held any more."""
        left = [batch for batch in self.batches if batch.last_seq > last_seq]
        return left if left and left[0].first_seq == last_seq + 1 else None


class Mark(NamedTuple):
    """How much of a run was held at some moment."""

    held: HeldRun
    batches: int


class HeldRecords:
    """The records of all runs of this server that may still be lost."""

    def __init__(self) -> None:
        self._runs: dict[str, HeldRun] = {}
        self.bytes = 0
        """Size of all of them."""

    def __bool__(self) -> bool:
        return self.bytes > 0

    def find(self, run_id: str, epoch: int) -> HeldRun | None:
        """Return what is held of a run that was claimed with this epoch."""
        held = self._runs.get(run_id)
        return held if held is not None and held.epoch == epoch else None

    def begin(self, run_id: str, epoch: int, base: int, batches: Sequence[Batch] = ()) -> None:
        """Hold the records of a run from now on, and those that its earlier server has appended."""
        self.drop(run_id)
        self._runs[run_id] = HeldRun(epoch, base)
        for batch in batches:
            self.add(batch._replace(epoch=epoch))

    def add(self, batch: Batch) -> None:
        """Hold records that were accepted; nothing happens for those that are held already."""
        held = self.find(batch.run_id, batch.epoch)
        if held is None:
            if batch.first_seq != 1:
                return
            self.drop(batch.run_id)
            held = self._runs[batch.run_id] = HeldRun(batch.epoch, 0)
        if not held.batches or batch.last_seq > held.batches[-1].last_seq:
            held.batches.append(batch)
            self.bytes += len(batch.body)

    def drop(self, run_id: str) -> None:
        """Hold nothing more of a run: it is in the store, or another server has it."""
        held = self._runs.pop(run_id, None)
        if held is not None:
            self.bytes -= sum(len(batch.body) for batch in held.batches)

    def mark(self) -> dict[str, Mark]:
        """Return what is held now, for `release()`."""
        return {
            run_id: Mark(held, len(held.batches))
            for run_id, held in self._runs.items()
            if held.batches
        }

    def release(self, marks: dict[str, Mark]) -> None:
        """Hold no longer what was held at an earlier moment: it is on the disk."""
        for run_id, mark in marks.items():
            if self._runs.get(run_id) is mark.held:
                self.bytes -= sum(len(batch.body) for batch in mark.held.batches[: mark.batches])
                del mark.held.batches[: mark.batches]
