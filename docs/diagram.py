"""Draws an order as an SVG: states are boxes, transitions are arrows with the names of events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Order: TypeAlias = Mapping[str, Mapping[str, str]]
"""For each state what may come, and the state after each."""
BOX = 132
LINE = 18


class Box(NamedTuple):
    """Position and caption of a state."""

    left: int
    top: int
    height: int
    about: str = ""

    @property
    def middle(self) -> int:
        return self.left + BOX // 2

    @property
    def bottom(self) -> int:
        return self.top + self.height


class Way(NamedTuple):
    """An arrow, and the position of its labels."""

    path: str
    x: int
    y: int
    anchor: str = "middle"
    note: str = ""


class Loop(NamedTuple):
    """A small arrow back to the same state, and the columns of its labels."""

    path: str
    columns: tuple[tuple[int, int, str], ...]

    @classmethod
    def below(cls, box: Box, shift: int = 0) -> Loop:
        """Create a loop below the box, with one column of labels."""
        x = box.middle + shift
        path = f"M{x - 15} {box.bottom + 2}c-6 30 36 30 30 3"
        return cls(path, ((x, box.bottom + 46, "middle"),))

    @classmethod
    def above(cls, box: Box) -> Loop:
        """Create a loop above the box, for a single label."""
        path = f"M{box.middle - 15} {box.top - 2}c-6 -30 36 -30 30 -3"
        return cls(path, ((box.middle, box.top - 36, "middle"),))


_STYLE = """\
    text { font-size: 13px; fill: #1b1d21; }
    .paper { fill: #fbfaf7; }
    .title { font-size: 15px; font-weight: 600; }
    .state { font-size: 14px; font-weight: 600; text-anchor: middle; }
    .about { font-size: 12.5px; fill: #64666a; }
    .name { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', \
monospace; }
    .name.teal { fill: #0f766e; }
    .name.blue { fill: #2f4fa8; }
    .name.amber { fill: #8a6116; }
    .box { stroke-width: 1.5; fill: #1b1d21; fill-opacity: 0.04; stroke: #64666a; }
    .box.teal { fill: #0f766e; fill-opacity: 0.12; stroke: #0f766e; }
    .box.blue { fill: #2f4fa8; fill-opacity: 0.1; stroke: #2f4fa8; }
    .box.amber { fill: #8a6116; fill-opacity: 0.1; stroke: #8a6116; }
    .way { fill: none; stroke: #85878b; stroke-width: 1.75; marker-end: url(#tip); }
    .tip, .dot { fill: #85878b; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e8e6e1; }
      .paper { fill: #121416; }
      .about { fill: #a3a29f; }
      .name.teal { fill: #5eead4; }
      .name.blue { fill: #a9bdff; }
      .name.amber { fill: #e0b25c; }
      .box { fill: #e8e6e1; fill-opacity: 0.06; stroke: #a3a29f; }
      .box.teal { fill: #5eead4; fill-opacity: 0.13; stroke: #5eead4; }
      .box.blue { fill: #a9bdff; fill-opacity: 0.13; stroke: #a9bdff; }
      .box.amber { fill: #e0b25c; fill-opacity: 0.13; stroke: #e0b25c; }
    }"""
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" \
height="{height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, \
Arial, 'DejaVu Sans', sans-serif">
  <title>{name}</title>
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


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """A picture without its loops. `looks` are the colors of labels by prefix, `box_looks` those of
    boxes."""

    name: str
    title: str
    width: int
    height: int
    order: Order
    last: str
    boxes: Mapping[str, Box]
    ways: Mapping[tuple[str, str], Way]
    looks: Mapping[str, str]
    box_looks: Mapping[str, str] = field(default_factory=dict[str, str])

    def picture(self, loops: Mapping[str, Loop], more: Iterable[str] = ()) -> str:
        """Return the SVG; `more` are additional shapes."""
        shapes = [text(24, 40, self.title, "title"), *more]
        for state, box in self.boxes.items():
            shapes += [*self._loop(state, loops), *self._box(state, box)]
        for state, nexts in self.order.items():
            for to in dict.fromkeys(nexts.values()):
                shapes += self._arrow(state, to) if to != state else []
        head = _HEAD.format(
            width=self.width, height=self.height, name=self.name, about=self._about(), style=_STYLE
        )
        return head + "".join(f"  {shape}\n" for shape in shapes) + "</svg>\n"

    def _about(self) -> str:
        told = (
            f"{state}: " + ", ".join(f"{name} to {to}" for name, to in nexts.items())
            for state, nexts in self.order.items()
        )
        return ". ".join(told) + "."

    def _box(self, state: str, box: Box) -> list[str]:
        middle = box.top + box.height // 2
        look = f"box {self.box_looks.get(state, '')}".strip()
        radius = box.height // 2 if state == self.last else 8
        shapes = [
            f'<rect class="{look}" x="{box.left}" y="{box.top}" width="{BOX}"'
            f' height="{box.height}" rx="{radius}"/>',
            text(box.middle, middle + (5 if not box.about else -3), state, "state"),
        ]
        if box.about:
            shapes.append(text(box.middle, middle + 17, box.about, "about", "middle"))
        return shapes

    def _loop(self, state: str, loops: Mapping[str, Loop]) -> list[str]:
        names = moves(self.order, state, state)
        if not names:
            return []
        loop = loops[state]
        shapes = [f'<path class="way" d="{loop.path}"/>']
        size = -(-len(names) // len(loop.columns))
        for number, (x, y, anchor) in enumerate(loop.columns):
            shapes += self._column(names[number * size : (number + 1) * size], x, y, anchor)
        return shapes

    def _arrow(self, state: str, to: str) -> list[str]:
        way, names = self.ways[state, to], moves(self.order, state, to)
        shapes = [
            f'<path class="way" d="{way.path}"/>',
            *self._column(names, way.x, way.y, way.anchor),
        ]
        if way.note:
            below = way.y + len(names) * LINE + (8 if way.anchor == "middle" else 0)
            shapes.append(text(way.x, below, way.note, "about", way.anchor))
        return shapes

    def _column(self, names: list[str], x: int, y: int, anchor: str) -> list[str]:
        return [
            text(x, y + at * LINE, name, f"name {self._look(name)}".strip(), anchor)
            for at, name in enumerate(names)
        ]

    def _look(self, name: str) -> str:
        return next((look for start, look in self.looks.items() if name.startswith(start)), "")


def moves(order: Order, state: str, to: str) -> list[str]:
    """Return the events that lead from one state to another."""
    return [name for name, then in order.get(state, {}).items() if then == to]


def text(x: int, y: int, words: str, look: str, anchor: str = "") -> str:
    """Return an SVG text at a position."""
    where = f' text-anchor="{anchor}"' if anchor and anchor != "start" else ""
    return f'<text class="{look}" x="{x}" y="{y}"{where}>{words}</text>'
