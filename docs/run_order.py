"""The order of a run's events as a table, and its picture. A missing entry is an illegal move.

The tests walk runs through this table and take every move of it, so that the picture can
neither hide nor invent one.
"""

from __future__ import annotations

from typing import get_args

from docs.diagram import Box, Diagram, Loop, Way
from headrace import events as ev

FIRST, LAST = "before", "over"
SAID = "what the model says"
"""Stands for all turn events between the first and the last, which have a grammar of their own."""
ORDER: dict[str, dict[str, str]] = {
    "before": {"RunStarted": "begun"},
    "begun": {
        "HistoryCompacted": "begun",
        "StepStarted": "asking",
        "RunFinished": "over",
        "RunFailed": "over",
    },
    "asking": {
        "HistoryCompacted": "asking",
        "TurnStarted": "turn",
        "StepFinished": "step over",
    },
    "turn": {SAID: "turn", "TurnFinished": "calls", "TurnFailed": "failed"},
    "calls": {
        "ToolStarted": "calls",
        "ToolProgress": "calls",
        "ToolResult": "calls",
        "StepFinished": "step over",
    },
    "failed": {
        "ToolResult": "failed",
        "StepDiscarded": "asking",
        "StepFinished": "step over",
    },
    "step over": {
        "HistoryCompacted": "step over",
        "StepStarted": "asking",
        "RunFinished": "over",
        "RunFailed": "over",
    },
}
"""Per state: the events that may come, and the state after each. A run whose log has failed is
cut where it stands: nothing is shown any more but `RunFailed`."""
_BORDERS = ("TurnStarted", "TurnFinished", "TurnFailed")
_SAID = {kind.__name__ for kind in get_args(ev.TurnEvent)} - set(_BORDERS)

_BOXES = {
    "before": Box(24, 104, 56),
    "begun": Box(258, 104, 56, "no step yet"),
    "asking": Box(492, 104, 56, "no turn yet"),
    "turn": Box(756, 104, 56, "the model speaks"),
    "failed": Box(560, 254, 56, "the turn broke"),
    "calls": Box(756, 404, 56, "tools at work"),
    "step over": Box(258, 404, 56, "all answered"),
    "over": Box(24, 404, 56),
}
_WAYS = {
    ("before", "begun"): Way("M158 132H254", 206, 123),
    ("begun", "asking"): Way("M392 122H488", 440, 113),
    ("begun", "over"): Way("M276 162V308Q276 320 264 320H102Q90 320 90 332V400", 180, 290),
    ("asking", "turn"): Way("M626 132H752", 690, 123),
    ("asking", "step over"): Way(
        "M510 162V324Q510 336 498 336H384Q372 336 372 348V400", 500, 290, "end", "refused"
    ),
    ("turn", "calls"): Way("M840 162V400", 830, 366, "end"),
    ("turn", "failed"): Way("M780 162V270Q780 282 768 282H696", 770, 240, "end"),
    ("failed", "asking"): Way("M592 252V164", 604, 190, "start"),
    ("failed", "step over"): Way("M580 312V406Q580 418 568 418H394", 490, 409),
    ("calls", "step over"): Way("M754 442H394", 690, 433),
    ("step over", "asking"): Way(
        "M330 402V254Q330 242 342 242H446Q458 242 458 230V160Q458 148 470 148H488", 442, 233, "end"
    ),
    ("step over", "over"): Way("M256 432H160", 208, 405),
}
_DIAGRAM = Diagram(
    name="Which event of a run may come when",
    title="The order of a run",
    width=912,
    height=560,
    order=ORDER,
    last=LAST,
    boxes=_BOXES,
    ways=_WAYS,
    box_looks={"turn": "teal", "calls": "amber", "asking": "blue", "step over": "blue"},
    looks={"Turn": "teal", "what": "teal", "Tool": "amber", "Step": "blue"},
)


def move_of(event: object) -> str:
    """Under which name an event stands in the table."""
    name = type(event).__name__
    return SAID if name in _SAID else name


def picture() -> str:
    """The table as an SVG: a step from left to right and back, the ends on the left."""
    loops = {state: Loop.above(_BOXES[state]) for state in ("begun", "asking", "turn")}
    loops["calls"] = Loop.below(_BOXES["calls"])
    loops["failed"] = Loop.below(_BOXES["failed"], shift=36)
    loops["step over"] = Loop.below(_BOXES["step over"])
    return _DIAGRAM.picture(loops)
