"""What a stored run has asked for, under the ids that clients of other protocols know."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headrace import events as ev
from headrace.events import Record
from headrace.projections.call_ids import CallIds
from headrace.readers.client_answer import ClientAnswer


class AskedRequest(msgspec.Struct, eq=False):
    """A request for input in the log of a run."""

    event: ev.InputRequested
    call_ids: tuple[str, ...]
    """Ids of its call, and of the outermost call if a sub-agent asks."""
    answered_seq: int | None = None
    """Number of the record of its answer, or None while there is none."""


class AskedRequests:
    """The requests of a run, and where it was suspended."""

    def __init__(self, message_id: str, records: Iterable[Record]) -> None:
        self._ids = CallIds(message_id)
        self._requests: dict[str, AskedRequest] = {}
        self._suspended: list[int] = []
        self.resumed_seq = 0
        """Number of the record with which the run last went on after it was suspended."""
        for record in records:
            self._feed(record)

    def _feed(self, record: Record) -> None:
        event, path = record.event, record.path
        self._ids.feed(record)
        match event:
            case ev.InputRequested():
                ids = [self._ids.find(path, event.call_id)]
                ids += [self._ids.find((), path[0])] if path else []
                known = tuple(id for id in ids if id is not None)
                self._requests[event.request_id] = AskedRequest(event, known)
            case ev.InputAnswered():
                asked = self._requests.get(event.request_id)
                if asked is not None:
                    asked.answered_seq = record.seq
            case ev.RunSuspended(reason="input") if not path:
                self._suspended.append(record.seq)
            case ev.RunResumed() if not path:
                self.resumed_seq = record.seq
            case _:
                pass

    def find(self, answer: ClientAnswer) -> AskedRequest | None:
        """Return the request that an answer is for: the open one, or else the latest one."""
        if answer.request_id is not None:
            return self._requests.get(answer.request_id)
        # The output of a call cannot approve it.
        found = [
            asked
            for asked in self._requests.values()
            if answer.call_id in asked.call_ids and asked.event.kind != "approval"
        ]
        return next((a for a in found if a.answered_seq is None), found[-1] if found else None)

    def position_before(self, seq: int | None = None) -> int:
        """Return the number of the last record before `seq` at which the run was suspended, or 0.
        The stream that a client gets for its answer begins behind it."""
        before = [number for number in self._suspended if seq is None or number < seq]
        return before[-1] if before else 0
