"""How the frames of each protocol look in the rows of `headrace decode --as`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.cli.terminal.color import Style
from headrace.projections import ux


@dataclass(frozen=True)
class FrameStyle:
    """How frames look in rows. A row begins with the fields `first`; the others follow as JSON,
    except those that are `hidden` because all rows would say the same."""

    name_columns: int = 24
    first: tuple[str, ...] = ("text", "content", "message", "name")
    hidden: tuple[str, ...] = ()
    styles: Mapping[str, Style] = field(default_factory=dict[str, Style])


_THINKING = FrameStyle(
    name_columns=len("artifact_complete"),
    first=("content", "description", "thinking", "message"),
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
_UX = FrameStyle(
    name_columns=len("reasoning_part_completed"),
    first=("text_delta", "text", "message", "name"),
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
_STYLES = {"thinking": _THINKING, "ux": _UX}


def frame_style(protocol: str) -> FrameStyle:
    """Return how the frames of a protocol look; a plain style for one without its own."""
    return _STYLES.get(protocol, FrameStyle())
