"""The order of a run's events as a picture, drawn from the table of `headrace.events.grammar`."""

from __future__ import annotations

from docs.diagram import Box, Diagram, Loop, Way
from headrace.events.grammar import MODEL_OUTPUT_TYPES, UNINTERRUPTED_RUN_GRAMMAR

FIRST, LAST = "before", "over"
MODEL_OUTPUT = "turn events"
"""Name for all turn events between the first and the last; they have their own grammar."""


def name_move(event_type: type) -> str:
    """Return the name under which an event is drawn."""
    return MODEL_OUTPUT if event_type in MODEL_OUTPUT_TYPES else event_type.__name__


ORDER: dict[str, dict[str, str]] = {
    state: {name_move(event): next for event, next in moves.items()}
    for state, moves in UNINTERRUPTED_RUN_GRAMMAR.items()
}
"""The grammar of a run with names instead of types; `MODEL_OUTPUT` stands for the output of the
model. Cancelling, suspending and resuming are possible anywhere, and not drawn."""

_BOXES = {
    "before": Box(24, 104, 56),
    "begun": Box(258, 104, 56, "no step yet"),
    "asking": Box(492, 104, 56, "no turn yet"),
    "turn": Box(756, 104, 56, "model output"),
    "failed": Box(560, 254, 56, "turn failed"),
    "calls": Box(756, 404, 56, "tools run"),
    "step over": Box(258, 404, 56, "all results"),
    "answered": Box(24, 536, 56, "typed answer"),
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
    ("step over", "answered"): Way("M276 462V552Q276 564 264 564H162", 286, 568, "start"),
    ("answered", "over"): Way("M90 534V464", 100, 494, "start"),
}
_DIAGRAM = Diagram(
    name="Order of the events of a run",
    title="The order of a run",
    width=912,
    height=610,
    order=ORDER,
    last=LAST,
    boxes=_BOXES,
    ways=_WAYS,
    box_looks={"turn": "teal", "calls": "amber", "asking": "blue", "step over": "blue"},
    looks={"Turn": "teal", "turn": "teal", "Tool": "amber", "Step": "blue"},
)


def picture() -> str:
    """Return the order as an SVG: a step from left to right and back, the ends on the left."""
    loops = {state: Loop.above(_BOXES[state]) for state in ("begun", "asking", "turn")}
    loops["calls"] = Loop.below(_BOXES["calls"])
    loops["failed"] = Loop.below(_BOXES["failed"], shift=36)
    loops["step over"] = Loop.below(_BOXES["step over"])
    return _DIAGRAM.picture(loops)
