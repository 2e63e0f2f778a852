"""`TurnWriter`: writes the events of a turn to a run that has no log, one read at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.engine.journal.run_log import RunLog
from headrace.engine.middleware.chain import Chain, name_error, reject_answer
from headrace.engine.middleware.middleware import RunView
from headrace.events import Event, Record, Stamp
from headrace.events.turn import DeltaEvent
from headrace.messages.builder import MANY_PIECES, PartBuilder
from headrace.wire.decoder import ReadResult


class TurnWriter:
    """Does the same as `Journal.put()`, for one turn of a run that keeps its records.

    Nearly every read is one more delta of the part before. `put()` writes such a delta itself: it
    stamps, keeps, folds and hands it over, and calls the observer. Without the calls that this
    saves, a turn with one observer takes a tenth less time.
    """

    __slots__ = (
        "_at_ms",
        "_chain",
        "_keep",
        "_kind",
        "_log",
        "_number",
        "_observe",
        "_part",
        "_pieces",
        "_put_many",
        "_queue",
        "_read",
        "_skips_repeated",
        "_stamp",
        "_step",
        "_view",
    )

    def __init__(
        self,
        log: RunLog,
        stamp: Stamp,
        view: RunView,
        chain: Chain,
        put_many: Callable[[Sequence[Event]], bool],
    ) -> None:
        self._log = log
        self._view = view
        self._step = view.step
        self._chain = chain
        self._put_many = put_many
        self._stamp = stamp
        self._read = stamp.read
        self._keep = log.records.append
        self._queue = log.queue
        # The only observer, if it gets every delta. Others are called by the chain, at most once in
        # a millisecond if they skip repeated deltas.
        self._observe: Callable[..., object] | None = None
        self._skips_repeated = chain.skips_repeated_deltas or not chain.observers
        if len(chain.observers) == 1 and not self._skips_repeated:
            self._observe = chain.observers[0]
        # The delta before: its kind, its part and its time. The kind is None after anything else.
        self._kind: type[DeltaEvent] | None = None
        self._number = -1
        self._part: PartBuilder | None = None
        self._pieces: list[str] = []
        self._at_ms = 0

    def put(self, events: ReadResult) -> bool:
        """Write the events of a read, or its only delta without a list. Returns whether the reader
        is far behind. Raises what middleware raises, after the events have been written."""
        event: Any = events
        if type(event) is not self._kind or event.part != self._number:
            return self._put_other(events)
        # What `Stamp.one` does.
        stamp = self._stamp
        now = self._read()
        if now >= stamp.next_ms_at:
            stamp.set_time(now)
        stamp.seq = seq = stamp.seq + 1
        record = Record(seq, stamp.at_ms, event, (), self._step, stamp.epoch)
        self._keep(record)
        # What `Assembler.feed` does with a delta.
        pieces = self._pieces
        pieces.append(event.text)
        if len(pieces) >= MANY_PIECES:
            self._part.join()  # type: ignore[union-attr]
        # What `RecordQueue.put_one` does.
        queue = self._queue
        waiting = queue.waiting
        waiting.append(record)
        if queue.reader is not None:
            queue.wake_reader()
        observe = self._observe
        if observe is None:
            if record.at_ms != self._at_ms or not self._skips_repeated:
                self._at_ms = record.at_ms
                self._chain.notify(self._view, record)
        else:
            try:
                if observe(self._view, record) is not None:
                    reject_answer()
            except BaseException as error:  # noqa: BLE001 (whatever it is, the hook is named)
                raise name_error(observe, error)  # noqa: B904 (it has its cause)
        return len(waiting) > queue.max_waiting

    def _put_other(self, events: ReadResult) -> bool:
        """Write what is not a delta of the part before."""
        if not isinstance(events, list):
            return self._put_first(events)
        if len(events) != 1:
            self._kind = None
            return self._put_many(events)
        event: Any = events[0]
        if type(event) is self._kind and event.part == self._number:
            return self.put(event)
        return self._put_first(event)

    def _put_first(self, event: Event) -> bool:
        """Write an event that is not a delta of the part before."""
        record = self._stamp.one(event, self._step)
        self._keep(record)
        self._log.assembler.feed(record)
        is_full = self._queue.put_one(record)
        self._kind, self._at_ms = None, record.at_ms
        if isinstance(event, DeltaEvent):
            self._kind = type(event)
            self._number = event.part
            self._part = self._log.assembler.parts[self._number]
            self._pieces = self._part.text
        self._chain.notify(self._view, record)
        return is_full
