"""`headrace replay`: a recorded stream or a stored run, once more and at its own pace."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator

from headrace.cli.commands.replay.printer import ReplayPrinter
from headrace.cli.sources.playback import Recital, open_recital
from headrace.cli.sources.source import Wanted
from headrace.cli.terminal.fitted_text import visible
from headrace.cli.terminal.lines import forgive
from headrace.errors import InputError
from headrace.events import Record

_EXIT_INTERRUPTED = 130
_TICK_S = 0.1


def run(options: Namespace) -> int:
    """Play it; the exit code is 1 where there is nothing to play."""
    wanted = Wanted(options.framing, options.dialect, options.rate)
    try:
        with open_recital(options.what, options.data, wanted) as recital:
            return _show(recital, options)
    except InputError as problem:
        return _complain(f"{options.what}: {problem}")
    except BrokenPipeError:
        raise
    except OSError as error:
        return _complain(f"{options.what}: {error.strerror or error}")


def _complain(message: str) -> int:
    print(f"headrace replay: {visible(message)}", file=sys.stderr)
    return 1


def _show(recital: Recital, options: Namespace) -> int:
    if recital.run is not None and not recital.run.records:
        raise InputError(
            "its records are no longer kept, so there is nothing to play;"
            f" headrace inspect {recital.run.id} shows what its message tells"
        )
    if options.page:
        from headrace.cli.commands.replay.ui import show_page

        return show_page(recital, options.speed, options.port)
    return _play(recital, options)


def _play(recital: Recital, options: Namespace) -> int:
    forgive(sys.stdout, sys.stderr)
    printer = ReplayPrinter(options.color, shows_reasoning=not options.hide_reasoning)
    speed = None if recital.is_live else options.speed
    try:
        # The times of a stream count from its first read, which may hold no whole event.
        first_ms = 0 if recital.run is None else None
        for record in _pace(recital.records, first_ms, speed, printer):
            printer.play(record)
    except KeyboardInterrupt:
        printer.finish()
        printer.complain("interrupted; this is what had been play")
        return _EXIT_INTERRUPTED
    printer.finish()
    if recital.run is not None and recital.run.is_live:
        printer.complain("the run goes on: this is what its log has so far")
    return 0


def _pace(
    records: Iterable[Record], first_ms: int | None, speed: float | None, printer: ReplayPrinter
) -> Iterator[Record]:
    """The records, each at its time; no waiting without a speed."""
    started_s = time.monotonic()
    for record in records:
        if speed is not None:
            first_ms = record.at_ms if first_ms is None else first_ms
            # Moments, not pauses: every sleep is a little too long, and that would add up.
            _wait_until(started_s + (record.at_ms - first_ms) / 1000 / speed, printer)
        yield record


def _wait_until(due_s: float, printer: ReplayPrinter) -> None:
    while (left_s := due_s - time.monotonic()) > 0:
        time.sleep(min(left_s, _TICK_S))
        printer.tick()
