"""The load test as a section of the page."""

from __future__ import annotations

from bench.load.level import Level
from bench.load.load import Load
from bench.load.mark import EVENTS_A_SECOND
from bench.load.ramp import BOUND_MS, Ramp

_TEXT = f"""## Under load

One server process on one core; upstream and clients in processes of their own on the other;
loopback; {EVENTS_A_SECOND} events a second and stream. Headrace is the whole path: upstream, HTTP
client, decoder, engine, log (SQLite, a record is sent only when its transaction has returned),
projection, SSE. The generator of Starlette makes its events itself, with nothing behind it.

*Delay* is the time from the upstream's send to the client's read, *held* whether nearly all events
came and the delay of 99 in 100 stayed within {BOUND_MS:g} ms. *CPU* is the server's, of all its
threads. *KB a stream* is what the process grew by, for each stream beyond a first few, at the end
of the window, when a stream has had some 200 events. *Others* is what other programs had of the
server's core meanwhile: where it is not nearly nothing, delays are theirs too, and a level that
does not hold is tried again.
"""


def section(load: Load) -> str:
    """The tables."""
    lines = [
        _TEXT,
        "| | streams | held | delay p50, ms | p99, ms | CPU, µs an event | KB a stream | others |",
        "|---|---:|:---:|---:|---:|---:|---:|---:|",
    ]
    for ramp in load.ramps:
        lines += [_row(ramp, level) for level in ramp.levels]
    return "\n".join([*lines, "", _parts(load.headrace), "", _deaf(load)])


def _row(ramp: Ramp, level: Level) -> str:
    cells = [
        ramp.contestant.title,
        str(level.streams),
        "yes" if level.holds(BOUND_MS) else "no",
        f"{level.p50_ms:,.1f}",
        f"{level.p99_ms:,.1f}",
        f"{level.cpu_us:,.0f}",
        f"{ramp.memory_kb(level):,.0f}",
        f"{level.foreign_s / level.window_s:.0%}",
    ]
    return "| " + " | ".join(cells) + " |"


def _parts(ramp: Ramp) -> str:
    best = ramp.best
    lines = [
        f"Where the delay of Headrace goes, at {best.streams if best else 0} streams, of one event"
        " in eight:",
        "",
        "| | p50, ms | p99, ms |",
        "|---|---:|---:|",
    ]
    lines += [
        f"| {part.name} | {part.within_ms(0.5):.1f} | {part.within_ms(0.99):.1f} |"
        for part in ramp.parts
    ]
    return "\n".join(lines)


def _deaf(load: Load) -> str:
    deaf = load.deaf
    return (
        f"{deaf.clients} good clients have a p99 of {deaf.alone.p99_ms:.1f} ms; beside"
        f" {deaf.clients} more that ask and never read, each with a stream of its own,"
        f" {deaf.beside.p99_ms:.1f} ms. Best of the rounds, which took turns."
    )
