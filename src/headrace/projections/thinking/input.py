"""Input in the thinking protocol: requests, answers, and what the user says during the run."""

from __future__ import annotations

from typing import TypeAlias

from headrace import events as ev
from headrace.projections.input_frame import answer_fields, prompt_text, request_fields
from headrace.projections.thinking import frame as fr
from headrace.projections.thinking.frame import ThinkingFrame

InputEvent: TypeAlias = ev.InputRequested | ev.InputAnswered | ev.RunSuspended | ev.UserMessageAdded
"""The events about input."""
CLOSING_WORDS: dict[type, str] = {ev.InputRequested: "tool_calls", ev.UserMessageAdded: "stop"}
"""The finish reason of an open text that one of these events ends."""


def to_frames(
    event: InputEvent, run_id: str, at_ms: int, path: tuple[str, ...] = ()
) -> list[ThinkingFrame]:
    """Return the frames of an event about input. `run_id` is the id of the outermost run, which
    takes the answers, and `path` leads to the run of the event."""
    match event:
        case ev.InputRequested():
            fields = request_fields(event, run_id, path)
            return [fr.InputRequestedFrame(timestamp=at_ms, **fields)]
        case ev.InputAnswered():
            return [fr.InputAnsweredFrame(timestamp=at_ms, **answer_fields(event))]
        case ev.RunSuspended():
            if event.reason != "input":
                return []
            return [fr.MessageWaiting(run_id, event.waiting, at_ms)]
        case ev.UserMessageAdded():
            text, said_at = prompt_text(event.content), event.said_at_ms
            return [fr.UserMessageAddedFrame(text=text, timestamp=at_ms, said_at=said_at)]
