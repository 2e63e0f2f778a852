"""The order of turn events as a picture, drawn from the tables of `headrace.events.grammar`."""

from __future__ import annotations

from headrace.events.grammar import TURN_GRAMMAR

GRAMMAR = {
    thing: {
        state: {event.__name__: next for event, next in moves.items()}
        for state, moves in states.items()
    }
    for thing, states in TURN_GRAMMAR.items()
}
"""`TURN_GRAMMAR` with the names of the events instead of their types."""

_WIDTH = 900
_LINE = 17
_DOT_X, _OPEN_X, _END_X = 150, 440, 790
_BOX_WIDTH, _BOX_HEIGHT = 92, 30
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" \
font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif" \
font-size="13">
  <title>Order of turn events</title>
  <defs>
    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" \
orient="auto">
      <path d="M0 0 10 5 0 10z" fill="#7d8796"/>
    </marker>
    <style>
      .state {{ fill: #1d5fbf; }}
      .end {{ fill: #0b7268; }}
      .way {{ fill: none; stroke: #7d8796; stroke-width: 2; marker-end: url(#tip); }}
      .rule {{ stroke: #7d8796; stroke-opacity: 0.35; }}
      .thing {{ fill: #7d8796; font-size: 15px; font-weight: 600; }}
      .name {{ fill: #fff; font-weight: 600; text-anchor: middle; }}
      .move {{ fill: #7d8796; text-anchor: middle; }}
    </style>
  </defs>
"""


def moves(thing: str, state: str, to: str) -> list[str]:
    """Return the events that lead from one state of a unit to another."""
    return [event for event, next in GRAMMAR[thing].get(state, {}).items() if next == to]


def picture() -> str:
    """Return the grammar as an SVG: one row per unit, its states from left to right."""
    rows: list[str] = []
    top = 0
    for thing in GRAMMAR:
        height = _row_height(thing)
        rows.append(_row(thing, top, height))
        top += height
    return _HEAD.format(width=_WIDTH, height=top) + "\n".join(rows) + "\n</svg>\n"


def _end_state(thing: str) -> str:
    return "over" if moves(thing, "open", "over") else "closed"


def _above(thing: str) -> list[list[str]]:
    """Return the labels of the arrows; a unit that arrives complete has one long arrow."""
    end = _end_state(thing)
    if moves(thing, "before", end):
        return [moves(thing, "before", end)]
    return [moves(thing, "before", "open"), moves(thing, "open", end)]


def _below(thing: str) -> list[list[str]]:
    """Return the labels below the states: events that do not change the state."""
    end = _end_state(thing)
    return [moves(thing, "open", "open"), moves(thing, end, end)]


def _row_height(thing: str) -> int:
    over = max(len(events) for events in _above(thing))
    under = max(len(events) for events in _below(thing))
    return 20 + over * _LINE + _BOX_HEIGHT + under * _LINE + 12


def _row(thing: str, top: int, height: int) -> str:
    above, below = _above(thing), _below(thing)
    y = top + 20 + max(map(len, above)) * _LINE
    middle = y + _BOX_HEIGHT // 2
    is_whole = len(above) == 1
    shapes = [
        f'  <text class="thing" x="10" y="{middle + 5}">{thing}</text>',
        f'  <circle class="state" cx="{_DOT_X}" cy="{middle}" r="6"/>',
        _state(_END_X, y, _end_state(thing), "end"),
    ]
    if is_whole:
        shapes += _arrow(_DOT_X + 10, _END_X, middle, above[0])
    else:
        shapes.append(_state(_OPEN_X, y, "open", "state"))
        shapes += _arrow(_DOT_X + 10, _OPEN_X, middle, above[0])
        shapes += _arrow(_OPEN_X + _BOX_WIDTH, _END_X, middle, above[1])
    for x, events in zip((_OPEN_X, _END_X), below, strict=True):
        shapes += _lines([f"↻ {event}" for event in events], x, y + _BOX_HEIGHT + _LINE)
    if top:
        shapes.append(f'  <line class="rule" x1="0" y1="{top}" x2="{_WIDTH}" y2="{top}"/>')
    return "\n".join(shapes)


def _state(x: int, y: int, name: str, kind: str) -> str:
    radius = _BOX_HEIGHT // 2 if kind == "end" else 6
    return (
        f'  <rect class="{kind}" x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}"'
        f' rx="{radius}"/>\n'
        f'  <text class="name" x="{x + _BOX_WIDTH // 2}" y="{y + 20}">{name}</text>'
    )


def _arrow(start: int, end: int, y: int, events: list[str]) -> list[str]:
    way = f'  <path class="way" d="M{start + 2} {y}H{end - 3}"/>'
    first = y - 9 - (len(events) - 1) * _LINE
    centre = (start + end) // 2 - _BOX_WIDTH // 2
    return [way, *_lines(events, centre, first)]


def _lines(texts: list[str], x: int, y: int) -> list[str]:
    return [
        f'  <text class="move" x="{x + _BOX_WIDTH // 2}" y="{y + at * _LINE}">{text}</text>'
        for at, text in enumerate(texts)
    ]
