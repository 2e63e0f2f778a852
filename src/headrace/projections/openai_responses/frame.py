"""The frames of the Responses protocol. Field names are those on the wire.

A frame has the fields of its event in OpenAI's published types; `type` and `sequence_number` come
first. Deltas are structs of their own, since nearly all frames are deltas.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from headrace.events import JSONObject


class TextDeltaFrame(msgspec.Struct, frozen=True, gc=False):
    """More text, refusal or raw reasoning of a content part."""

    type: str
    sequence_number: int
    item_id: str
    output_index: int
    content_index: int
    delta: str


class AnswerDeltaFrame(msgspec.Struct, frozen=True):
    """More text of the answer. OpenAI's clients require the log-probabilities, even if empty."""

    type: str
    sequence_number: int
    item_id: str
    output_index: int
    content_index: int
    delta: str
    logprobs: tuple[Any, ...] = ()


class SummaryDeltaFrame(msgspec.Struct, frozen=True, gc=False):
    """More text of a summary of reasoning."""

    type: str
    sequence_number: int
    item_id: str
    output_index: int
    summary_index: int
    delta: str


class ArgumentsDeltaFrame(msgspec.Struct, frozen=True, gc=False):
    """More of the arguments of a call."""

    type: str
    sequence_number: int
    item_id: str
    output_index: int
    delta: str


class EventFrame(msgspec.Struct, frozen=True):
    """Any other event: its type, and its other fields."""

    type: str
    sequence_number: int
    fields: JSONObject


DeltaFrame: TypeAlias = TextDeltaFrame | AnswerDeltaFrame | SummaryDeltaFrame | ArgumentsDeltaFrame
ResponsesFrame: TypeAlias = DeltaFrame | EventFrame

_encode = msgspec.json.Encoder().encode


def encode_frame(frame: ResponsesFrame) -> bytes:
    """Encode a frame as the payload of one server-sent event."""
    if type(frame) is EventFrame:
        head = {"type": frame.type, "sequence_number": frame.sequence_number}
        return _encode(head | frame.fields)
    return _encode(frame)


def frame_type(frame: ResponsesFrame) -> str:
    """Return the name of a frame's type."""
    return frame.type
