"""Input in the ux protocol: requests, answers, and what the user says during the run."""

from __future__ import annotations

from headrace import events as ev
from headrace.events import Record
from headrace.projections.input_frame import answer_fields, prompt_text, request_fields
from headrace.projections.ux import frame as fr
from headrace.projections.ux.event import user_message_id
from headrace.projections.ux.frame import UXFrame
from headrace.projections.ux.live_message import LiveMessage
from headrace.projections.ux.live_segment import LiveSegment

_NO_STEP = -1
"""The step of what the user said: it stands between two steps, and none of them takes it back."""


class UXInput:
    """Makes the frames about input. `run_id` is the id of the run, which takes the answers."""

    __slots__ = ("_added", "_message", "run_id")

    def __init__(self, message: LiveMessage) -> None:
        self._message = message
        self._added = 0
        self.run_id = ""

    def feed(self, event: object, path: tuple[str, ...] = ()) -> list[UXFrame]:
        """Return the frames of an event; none if it is not about input."""
        event_id = self._message.event_id
        match event:
            case ev.InputRequested():
                fields = request_fields(event, self.run_id, path)
                at_ms = self._message.at_ms
                return [fr.InputRequestedFrame(event_id=event_id, created_at=at_ms, **fields)]
            case ev.InputAnswered():
                return [fr.InputAnsweredFrame(event_id=event_id, **answer_fields(event))]
            case ev.RunSuspended(reason="input"):
                return [fr.MessageWaiting(event_id, self.run_id, event.waiting)]
            case _:
                return []

    def feed_nested(self, record: Record) -> list[UXFrame]:
        """Return the frames of a record of a sub-agent. Only the outermost run is suspended."""
        if isinstance(record.event, ev.RunSuspended):
            return []
        return self.feed(record.event, record.path)

    def add_message(self, event: ev.UserMessageAdded) -> tuple[LiveSegment, UXFrame]:
        """Return the segment of what the user said, and its frame."""
        message = self._message
        id = user_message_id(message.event_id, self._added)
        self._added += 1
        added = fr.UserMessageAddedFrame(
            event_id=message.event_id,
            segment_id=id,
            text=prompt_text(event.content),
            sequence_number=len(message.segments),
            created_at=message.at_ms,
            said_at=event.said_at_ms,
        )
        return LiveSegment(id, _NO_STEP), added
