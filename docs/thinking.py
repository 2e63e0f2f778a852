"""The order of thinking frames as a table, and its picture. A missing entry is an illegal move.

The tests walk streams through this table and take every move of it, so that the picture can
neither hide nor invent one.
"""

from __future__ import annotations

from typing import NamedTuple

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
"""Per state: the frames that may come, and the state after each."""

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
"""The fields that the source document of the vocabulary names; all others are additions."""


class _Box(NamedTuple):
    left: int
    top: int
    height: int
    about: str

    @property
    def middle(self) -> int:
        return self.left + _BOX // 2

    @property
    def bottom(self) -> int:
        return self.top + self.height


class _Way(NamedTuple):
    """An arrow, and where the frames that take it are written."""

    path: str
    x: int
    y: int
    anchor: str = "middle"
    note: str = ""


_WIDTH, _HEIGHT, _BOX = 720, 520, 132
_LINE = 18
_BOXES = {
    "thinking": _Box(24, 176, 104, "one phase of it"),
    "idle": _Box(294, 176, 104, "nothing is open"),
    "text begun": _Box(564, 176, 40, ""),
    "text": _Box(564, 240, 40, ""),
    "summed up": _Box(112, 448, 40, ""),
    "ended": _Box(350, 448, 40, ""),
    "over": _Box(564, 448, 40, ""),
}
_WAYS = {
    ("idle", "thinking"): _Way("M292 196H160", 225, 187),
    ("thinking", "idle"): _Way("M158 260H290", 225, 251),
    ("idle", "text begun"): _Way("M428 196H560", 495, 187),
    ("text begun", "text"): _Way("M590 218V236", 602, 232, "start"),
    ("text", "idle"): _Way("M562 260H430", 495, 251),
    ("idle", "summed up"): _Way(
        "M328 282V362Q328 374 316 374H190Q178 374 178 386V444",
        250,
        365,
        note="if there was thinking",
    ),
    ("idle", "ended"): _Way("M394 282V444", 408, 316, "start", "if there was none"),
    ("summed up", "ended"): _Way("M246 468H346", 297, 423),
    ("ended", "over"): _Way("M484 468H560", 523, 459),
}
_LOOKS = {
    "thinking_": "thought",
    "text_": "said",
    **dict.fromkeys(("tool_", "web_search", "artifact_complete", "image_complete"), "tool"),
}
_STYLE = """\
    text { font-size: 13px; fill: #1b1d21; }
    .paper { fill: #fbfaf7; }
    .title { font-size: 15px; font-weight: 600; }
    .state { font-size: 14px; font-weight: 600; text-anchor: middle; }
    .about { font-size: 12.5px; fill: #64666a; }
    .frame { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', \
monospace; }
    .thought { fill: #0f766e; }
    .said { fill: #2f4fa8; }
    .tool { fill: #8a6116; }
    .box { stroke-width: 1.5; fill: #1b1d21; fill-opacity: 0.04; stroke: #64666a; }
    .box.thinking { fill: #0f766e; fill-opacity: 0.12; stroke: #0f766e; }
    .box.text { fill: #2f4fa8; fill-opacity: 0.1; stroke: #2f4fa8; }
    .way { fill: none; stroke: #85878b; stroke-width: 1.75; marker-end: url(#tip); }
    .tip, .dot { fill: #85878b; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e8e6e1; }
      .paper { fill: #121416; }
      .about { fill: #a3a29f; }
      .thought { fill: #5eead4; }
      .said { fill: #a9bdff; }
      .tool { fill: #e0b25c; }
      .box { fill: #e8e6e1; fill-opacity: 0.06; stroke: #a3a29f; }
      .box.thinking { fill: #5eead4; fill-opacity: 0.13; stroke: #5eead4; }
      .box.text { fill: #a9bdff; fill-opacity: 0.13; stroke: #a9bdff; }
    }"""
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" \
height="{height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, \
Arial, 'DejaVu Sans', sans-serif">
  <title>Which thinking frame may come when</title>
  <desc>{about}</desc>
  <style>
{style}
  </style>
  <defs>
    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" \
orient="auto">
      <path class="tip" d="M0 0.5 10 5 0 9.5z"/>
    </marker>
  </defs>
  <rect class="paper" width="{width}" height="{height}" rx="10"/>
"""


def frames(state: str, to: str) -> list[str]:
    """The frames that lead from one state to another."""
    return [frame for frame, then in ORDER.get(state, {}).items() if then == to]


def picture() -> str:
    """The table as an SVG: thinking and text on either side, the end below."""
    shapes = [_text(24, 40, "The order of thinking frames", "title"), *_start()]
    for state, box in _BOXES.items():
        shapes += [*_loop(state, box), *_box(state, box)]
    for state, moves in ORDER.items():
        for to in dict.fromkeys(moves.values()):
            shapes += _arrow(state, to) if to != state else []
    head = _HEAD.format(width=_WIDTH, height=_HEIGHT, about=_about(), style=_STYLE)
    return head + "".join(f"  {shape}\n" for shape in shapes) + "</svg>\n"


def _about() -> str:
    told = (
        f"{state}: " + ", ".join(f"{frame} to {to}" for frame, to in moves.items())
        for state, moves in ORDER.items()
    )
    return ". ".join(told) + "."


def _start() -> list[str]:
    box = _BOXES[FIRST]
    x, y = box.left + 20, box.top - 40
    return [
        f'<circle class="dot" cx="{x}" cy="{y}" r="5"/>',
        f'<path class="way" d="M{x} {y + 7}V{box.top - 4}"/>',
        _text(x - 12, y + 4, "start", "about", "end"),
    ]


def _box(state: str, box: _Box) -> list[str]:
    middle = box.top + box.height // 2
    kind = "thinking" if state == "thinking" else state.partition(" ")[0]
    radius = box.height // 2 if state == LAST else 8
    shapes = [
        f'<rect class="box {kind}" x="{box.left}" y="{box.top}" width="{_BOX}"'
        f' height="{box.height}" rx="{radius}"/>',
        _text(box.middle, middle + (5 if not box.about else -3), state, "state"),
    ]
    if box.about:
        shapes.append(_text(box.middle, middle + 17, box.about, "about", "middle"))
    return shapes


def _loop(state: str, box: _Box) -> list[str]:
    """A small arrow back to the state, and the frames that leave it as it is: above the
    first state, below the others."""
    names = frames(state, state)
    if not names:
        return []
    if state == FIRST:
        half = (len(names) + 1) // 2
        arc = f'<path class="way" d="M{box.left + 76} {box.top - 2}c-8 -30 36 -30 30 -3"/>'
        top = box.top - 32 - half * _LINE
        left = _column(names[:half], box.middle + 36, top, "end")
        return [arc, *left, *_column(names[half:], box.middle + 54, top, "start")]
    arc = f'<path class="way" d="M{box.middle - 15} {box.bottom + 2}c-6 30 36 30 30 3"/>'
    return [arc, *_column(names, box.middle, box.bottom + 46, "middle")]


def _arrow(state: str, to: str) -> list[str]:
    way, names = _WAYS[state, to], frames(state, to)
    shapes = [f'<path class="way" d="{way.path}"/>', *_column(names, way.x, way.y, way.anchor)]
    if way.note:
        below = way.y + len(names) * _LINE + (8 if way.anchor == "middle" else 0)
        shapes.append(_text(way.x, below, way.note, "about", way.anchor))
    return shapes


def _column(names: list[str], x: int, y: int, anchor: str) -> list[str]:
    return [
        _text(x, y + at * _LINE, name, f"frame {_family(name)}".strip(), anchor)
        for at, name in enumerate(names)
    ]


def _family(name: str) -> str:
    """The colour of a frame, by what it is about."""
    return next((look for start, look in _LOOKS.items() if name.startswith(start)), "")


def _text(x: int, y: int, words: str, look: str, anchor: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor and anchor != "start" else ""
    return f'<text class="{look}" x="{x}" y="{y}"{where}>{words}</text>'
