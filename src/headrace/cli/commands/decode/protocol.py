"""The vocabularies of `--as`, and how their frames look in rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from headrace.cli.terminal.color import Style
from headrace.events import Record
from headrace.projections import thinking, ux

Frame: TypeAlias = Any
"""A frame of any vocabulary."""


class Projection(Protocol):
    """Records in, frames out."""

    def feed(self, record: Record) -> list[Any]: ...

    def close(self) -> list[Any]: ...


@dataclass(frozen=True)
class Vocabulary:
    """One vocabulary. A row is about the fields `said`; the others follow as JSON, but for those
    that are `hidden`, since all rows would say the same."""

    project: Callable[[], Projection]
    encode_frame: Callable[[Any], bytes]
    frame_type: Callable[[Any], str]
    name_columns: int
    said: tuple[str, ...]
    hidden: tuple[str, ...]
    styles: Mapping[str, Style]


THINKING = Vocabulary(
    project=thinking.ThinkingProjection,
    encode_frame=thinking.encode_frame,
    frame_type=thinking.frame_type,
    name_columns=len("artifact_complete"),
    said=("content", "description", "thinking", "message"),
    hidden=("timestamp", "call_id"),
    styles={
        "thinking_delta": Style.DIM,
        "status": Style.BOLD,
        "error": Style.RED,
        "cancelled": Style.YELLOW,
        "tool_call_start": Style.CYAN,
        "tool_result": Style.CYAN,
    },
)
UX = Vocabulary(
    project=ux.UXProjection,
    encode_frame=ux.encode_frame,
    frame_type=ux.frame_type,
    name_columns=len("reasoning_part_completed"),
    said=("text_delta", "text", "message", "name"),
    hidden=("event_id", "segment_id", "call_id", "created_at", "args_preview"),
    styles={
        "reasoning_part_delta": Style.DIM,
        "status": Style.BOLD,
        "message_error": Style.RED,
        "message_cancelled": Style.YELLOW,
        "step_discarded": Style.YELLOW,
        **dict.fromkeys(ux.TOOL_FRAME_TYPES, Style.CYAN),
    },
)
VOCABULARIES = {"thinking": THINKING, "ux": UX}
