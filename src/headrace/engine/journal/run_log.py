"""What a run has told so far: kept, folded, handed over and observed, in this order. Nothing gets
here that a log was to have before."""

from __future__ import annotations

from headrace.engine.journal.record_queue import RecordQueue
from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.middleware import RunView
from headrace.events import Record
from headrace.messages import Assembler


class Book:
    """The records of a run, and what is made of them."""

    __slots__ = ("_chain", "_view", "assembler", "keeps_records", "outbox", "records")

    def __init__(self, view: RunView, chain: Chain) -> None:
        self.records: list[Record] = []
        self.keeps_records = True
        """Whether `records` has all; else the latest alone."""
        self.assembler = Assembler()
        self.outbox = RecordQueue()
        self._view = view
        self._chain = chain

    def add(self, records: list[Record]) -> bool:
        """Returns whether the reader is far behind. Raises what middleware raises, after all
        else has been done."""
        self.keep(records)
        feed = self.assembler.feed
        for record in records:
            feed(record)
        is_full = self.outbox.put(records)
        if self._chain.is_plain and self._chain.observers:
            self._chain.notify_all(self._view, records)
        return is_full

    def add_last(self, record: Record) -> None:
        """The last resort: past everybody who could fail."""
        self.keep([record])
        self.assembler.feed(record)
        self.outbox.put_one(record)

    def silence(self) -> None:
        """Tell no observer any more."""
        self._chain = Chain(())

    def keep(self, records: list[Record]) -> None:
        if not self.keeps_records and records:
            self.records.clear()
            records = records[-1:]
        self.records += records
