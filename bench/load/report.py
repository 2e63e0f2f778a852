"""The load test as a section of the page."""

from __future__ import annotations

from bench.load.level import Level
from bench.load.load import Load
from bench.load.mark import EVENTS_A_SECOND
from bench.load.ramp import BOUND_MS, Ramp

_TEXT = f"""## Under load

One server process on one core, and the provider and the clients in processes on the other core,
over loopback; {EVENTS_A_SECOND} events per second and stream. Headrace is the whole path: HTTP
client, decoder, engine, log (SQLite; a record is sent only after its transaction has returned),
projection, SSE. The Starlette generator creates its own events and does nothing else.

*Delay* is the time from the send of the provider to the read of the client. *Held* is whether
nearly all events arrived and the 99th percentile of the delay stayed within {BOUND_MS:g} ms.
*CPU* is that of all threads of the server. *KB per stream* is the growth of the process per stream,
beyond the first few, after about 200 events of each stream. *Others* is the share of the server's
core that other programs used: if it is not close to 0, they affect the delays too, and a level that
does not hold is repeated.
"""


def section(load: Load) -> str:
    """The tables."""
    lines = [
        _TEXT,
        "| | streams | held | delay p50, ms | p99, ms | CPU, µs per event | KB per stream |"
        " others |",
        "|---|---:|:---:|---:|---:|---:|---:|---:|",
    ]
    for ramp in load.ramps:
        lines += [level_row(ramp, level) for level in ramp.levels]
    return "\n".join([*lines, "", _asked(load), "", _parts(load.headrace), "", _deaf(load)])


def level_row(ramp: Ramp, level: Level) -> str:
    """One row of a table."""
    return "| " + " | ".join(level_cells(ramp, level)) + " |"


def level_cells(ramp: Ramp, level: Level) -> list[str]:
    """The cells of a row."""
    return [
        ramp.contestant.title,
        str(level.streams),
        "yes" if level.holds(BOUND_MS) else "no",
        f"{level.p50_ms:,.1f}",
        f"{level.p99_ms:,.1f}",
        f"{level.cpu_us:,.0f}",
        f"{ramp.memory_kb(level):,.0f}",
        f"{level.foreign_s / level.window_s:.0%}",
    ]


def _parts(ramp: Ramp) -> str:
    best = ramp.best
    lines = [
        f"The parts of Headrace's delay at {best.streams if best else 0} streams, from every eighth"
        " event:",
        "",
        "| | p50, ms | p99, ms |",
        "|---|---:|---:|",
    ]
    lines += [
        f"| {part.name} | {part.within_ms(0.5):.1f} | {part.within_ms(0.99):.1f} |"
        for part in ramp.parts
    ]
    return "\n".join(lines)


def _asked(load: Load) -> str:
    first = load.headrace.levels[0]
    return (
        f"With {first.streams} streams, the provider sends its first byte"
        f" {first.seen.provider_ms(0.5):.1f} ms after the client's request (median; p99"
        f" {first.seen.provider_ms(0.99):.1f} ms). It answers at once, so this is the time until it"
        " is asked."
    )


def _deaf(load: Load) -> str:
    deaf = load.deaf
    return (
        f"The p99 of {deaf.clients} clients is {deaf.alone.p99_ms:.1f} ms; together with"
        f" {deaf.clients} clients that send a question and never read the answer, it is"
        f" {deaf.beside.p99_ms:.1f} ms (best of interleaved rounds)."
    )
