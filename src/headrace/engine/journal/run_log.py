"""The steps after a record has been logged: keep, fold, hand over and observe."""

from __future__ import annotations

from headrace.engine.journal.record_queue import RecordQueue
from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.middleware import RunView
from headrace.events import Record
from headrace.messages import Assembler


class RunLog:
    """The records of a run in memory, with the message and the queue that they go to."""

    __slots__ = ("_chain", "_view", "assembler", "keeps_records", "queue", "records")

    def __init__(self, view: RunView, chain: Chain) -> None:
        self.records: list[Record] = []
        self.keeps_records = True
        """Whether `records` has all records, or only the latest."""
        self.assembler = Assembler()
        self.queue = RecordQueue()
        self._view = view
        self._chain = chain

    def add(self, records: list[Record]) -> bool:
        """Take records that the log has. Returns whether the reader is far behind. Raises what
        middleware raises, after all records have been taken."""
        self._keep(records)
        feed = self.assembler.feed
        for record in records:
            feed(record)
        is_full = self.queue.put(records)
        if self._chain.is_plain and self._chain.observers:
            self._chain.notify_all(self._view, records)
        return is_full

    def add_last(self, record: Record) -> None:
        """Take a terminal record without calling middleware."""
        self._keep([record])
        self.assembler.feed(record)
        self.queue.put_one(record)

    def detach_observers(self) -> None:
        """Call no middleware from now on."""
        self._chain = Chain(())

    def _keep(self, records: list[Record]) -> None:
        if not self.keeps_records and records:
            self.records.clear()
            records = records[-1:]
        self.records += records
