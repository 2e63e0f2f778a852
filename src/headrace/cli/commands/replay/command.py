"""Runs `headrace replay`: plays a recorded stream or a stored run at its own pace."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator

from headrace.cli.commands.replay.printer import ReplayPrinter
from headrace.cli.sources.playback import Playback, open_playback
from headrace.cli.sources.source import Wanted
from headrace.cli.terminal.output import forgive
from headrace.errors import InputError
from headrace.events import Record

_EXIT_INTERRUPTED = 130
_TICK_S = 0.1


def run(options: Namespace) -> int:
    """Play it; the exit code is 1 if there is nothing to play."""
    wanted = Wanted(options.framing, options.dialect, options.rate)
    with open_playback(options.what, options, wanted) as playback:
        return _show(playback, options)


def _show(playback: Playback, options: Namespace) -> int:
    if playback.run is not None and not playback.run.records:
        raise InputError(
            "its records are no longer kept, so it cannot be replayed;"
            f" headrace inspect {playback.run.id} shows what its message still holds"
        )
    if options.page:
        from headrace.cli.commands.replay.ui import show_page

        return show_page(playback, options.speed, options.port)
    return _play(playback, options)


def _play(playback: Playback, options: Namespace) -> int:
    forgive(sys.stdout, sys.stderr)
    printer = ReplayPrinter(options.color, shows_reasoning=not options.hide_reasoning)
    speed = None if playback.is_live else options.speed
    try:
        # Times count from the first read, which may not hold a complete event.
        first_ms = 0 if playback.run is None else None
        for record in _pace(playback.records, first_ms, speed, printer):
            printer.play(record)
    except KeyboardInterrupt:
        printer.finish()
        printer.complain("interrupted; this is what had been played")
        return _EXIT_INTERRUPTED
    printer.finish()
    if playback.run is not None and playback.run.is_live:
        printer.complain("the run is not finished: this is what its log has so far")
    return 0


def _pace(
    records: Iterable[Record], first_ms: int | None, speed: float | None, printer: ReplayPrinter
) -> Iterator[Record]:
    """Yield the records at their times; without a speed there are no pauses."""
    started_s = time.monotonic()
    for record in records:
        if speed is not None:
            first_ms = record.at_ms if first_ms is None else first_ms
            # Sleeping until a point in time avoids that small delays add up.
            _wait_until(started_s + (record.at_ms - first_ms) / 1000 / speed, printer)
        yield record


def _wait_until(due_s: float, printer: ReplayPrinter) -> None:
    while (left_s := due_s - time.monotonic()) > 0:
        time.sleep(min(left_s, _TICK_S))
        printer.tick()
