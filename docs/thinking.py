"""The order of thinking frames as a table and a picture. A missing entry is an illegal move.

The tests check streams against this table, and that every entry of it occurs.
"""

from __future__ import annotations

from docs.diagram import Box, Diagram, Loop, Way, moves, text

FIRST, LAST = "idle", "over"
ORDER: dict[str, dict[str, str]] = {
    "idle": {
        "thinking_start": "thinking",
        "text_start": "text begun",
        "tool_call_start": "idle",
        "tool_result": "idle",
        "status": "idle",
        "web_search": "idle",
        "artifact_complete": "idle",
        "image_complete": "idle",
        "input_requested": "idle",
        "input_answered": "idle",
        "message_waiting": "idle",
        "user_message_added": "idle",
        "thinking_complete": "summed up",
        "done": "ended",
        "error": "ended",
        "cancelled": "ended",
    },
    "thinking": {
        "thinking_delta": "thinking",
        "status": "thinking",
        "tool_call_start": "thinking",
        "image_complete": "thinking",
        "thinking_end": "idle",
    },
    "text begun": {"text_delta": "text"},
    "text": {
        "text_delta": "text",
        "tool_call_start": "text",
        "tool_result": "text",
        "status": "text",
        "image_complete": "text",
        "text_end": "idle",
    },
    "summed up": {"done": "ended", "error": "ended", "cancelled": "ended"},
    "ended": {"[DONE]": "over"},
}
"""For each state the frames that may come, and the state after each."""

DOCUMENT: dict[str, tuple[str, ...]] = {
    "thinking_start": ("timestamp",),
    "thinking_delta": ("content", "timestamp"),
    "status": ("description", "source", "timestamp"),
    "thinking_end": ("duration", "timestamp"),
    "thinking_complete": ("duration", "thinking", "timestamp"),
    "text_start": ("timestamp",),
    "text_delta": ("content",),
    "text_end": ("finish_reason", "timestamp"),
    "tool_call_start": ("toolName", "arguments", "timestamp"),
    "tool_result": ("toolName", "success"),
    "web_search": ("data",),
    "artifact_complete": ("artifactCode",),
    "image_complete": (),
}
"""The fields of the specification of the protocol; all others are additions."""


_BOXES = {
    "thinking": Box(24, 176, 104, "one phase of it"),
    "idle": Box(294, 176, 104, "nothing is open"),
    "text begun": Box(564, 176, 40, ""),
    "text": Box(564, 240, 40, ""),
    "summed up": Box(112, 448, 40, ""),
    "ended": Box(350, 448, 40, ""),
    "over": Box(564, 448, 40, ""),
}
_WAYS = {
    ("idle", "thinking"): Way("M292 196H160", 225, 187),
    ("thinking", "idle"): Way("M158 260H290", 225, 251),
    ("idle", "text begun"): Way("M428 196H560", 495, 187),
    ("text begun", "text"): Way("M590 218V236", 602, 232, "start"),
    ("text", "idle"): Way("M562 260H430", 495, 251),
    ("idle", "summed up"): Way(
        "M328 282V362Q328 374 316 374H190Q178 374 178 386V444",
        250,
        365,
        note="if there was thinking",
    ),
    ("idle", "ended"): Way("M394 282V444", 408, 316, "start", "if there was none"),
    ("summed up", "ended"): Way("M246 468H346", 297, 423),
    ("ended", "over"): Way("M484 468H560", 523, 459),
}
_DIAGRAM = Diagram(
    name="Which thinking frame may come when",
    title="The order of thinking frames",
    width=720,
    height=520,
    order=ORDER,
    last=LAST,
    boxes=_BOXES,
    ways=_WAYS,
    box_looks={"thinking": "teal", "text begun": "blue", "text": "blue"},
    looks={
        "thinking_": "teal",
        "text_": "blue",
        **dict.fromkeys(("tool_", "web_search", "artifact_complete", "image_complete"), "amber"),
        **dict.fromkeys(("input_", "message_", "user_"), "amber"),
    },
)


def frames(state: str, to: str) -> list[str]:
    """The frames that lead from one state to another."""
    return moves(ORDER, state, to)


def picture() -> str:
    """The table as an SVG: thinking and text on either side, the end below."""
    loops = {state: _loop(state, box) for state, box in _BOXES.items() if frames(state, state)}
    return _DIAGRAM.picture(loops, _start())


def _start() -> list[str]:
    box = _BOXES[FIRST]
    x, y = box.left + 20, box.top - 40
    return [
        f'<circle class="dot" cx="{x}" cy="{y}" r="5"/>',
        f'<path class="way" d="M{x} {y + 7}V{box.top - 4}"/>',
        text(x - 12, y + 4, "start", "about", "end"),
    ]


def _loop(state: str, box: Box) -> Loop:
    """Above the first state, in two columns; below the others."""
    if state != FIRST:
        return Loop.below(box)
    height = (len(frames(state, state)) + 1) // 2 * 18
    top = box.top - 32 - height
    columns = ((box.middle + 36, top, "end"), (box.middle + 54, top, "start"))
    return Loop(f"M{box.left + 76} {box.top - 2}c-8 -30 36 -30 30 -3", columns)
