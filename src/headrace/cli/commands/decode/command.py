"""Runs `headrace decode`: reads recorded streams and prints them in one of five formats."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from headrace.cli.commands.decode.printer import Printer, frame_printer, printer_for
from headrace.cli.sources.reads import ReadClock
from headrace.cli.sources.source import STDIN, Wanted, find_sources, open_source
from headrace.cli.terminal.progress import Progress
from headrace.errors import InputError
from headrace.wire.decode import decode


def run(options: Namespace) -> int:
    """Decode every file; the exit code is 1 if one of them failed."""
    names: list[str] = options.files or [STDIN]
    is_piped = sys.stdin is not None and not sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]
    if not options.files and not is_piped:
        _complain("no FILE given, and nothing is piped in\ntry: headrace decode --help")
        return 2
    form = options.format or ("table" if options.svg is None else "timeline")
    sources = find_sources(names)
    mismatch = _mismatch(options, form, len(sources))
    if mismatch is not None:
        _complain(mismatch)
        return 2
    is_several = len(sources) > 1 or any(Path(name).is_dir() for name in names)
    printer = _printer(options, form, is_several=is_several)
    wanted = Wanted(options.framing, options.dialect, options.rate)
    return _decode_all(sources, wanted, printer)


def _mismatch(options: Namespace, form: str, sources: int) -> str | None:
    if options.protocol and options.svg is not None:
        return f"--svg draws the timeline, which --as {options.protocol} does not have"
    if options.svg is not None and (form != "timeline" or sources != 1):
        what = f"--format {form}" if form != "timeline" else f"{sources} streams"
        return f"--svg draws the timeline of one stream, not {what}"
    if options.protocol and form not in ("table", "events"):
        return f"--as {options.protocol} has the formats table and events, not {form}"
    return None


def _printer(options: Namespace, form: str, *, is_several: bool) -> Printer:
    if options.protocol:
        name = options.protocol
        return frame_printer(name, form, options.color, is_several=is_several)
    return printer_for(form, options.color, is_several=is_several, svg=options.svg)


def _complain(message: str) -> None:
    print(f"headrace decode: {message}", file=sys.stderr)


def _decode_all(sources: list[str], wanted: Wanted, printer: Printer) -> int:
    progress = Progress(len(sources))
    bad = 0
    try:
        for done, name in enumerate(sources):
            progress.show(done, name)
            what = _decode_one(name, wanted, printer)
            if what is not None:
                bad += 1
                progress.tell(f"headrace: {name}: {what}")
    finally:
        progress.clear()
    if bad > 1:
        progress.tell(f"headrace: {bad} of {len(sources)} files could not be decoded")
    return 1 if bad else 0


def _decode_one(name: str, wanted: Wanted, printer: Printer) -> str | None:
    """Print one file; return what is wrong with it, or None."""
    try:
        _print_records(name, wanted, printer)
    except BrokenPipeError:
        raise
    except InputError as problem:
        return str(problem)
    except OSError as error:
        return error.strerror or str(error)
    finally:
        sys.stdout.flush()
    return None


def _print_records(name: str, wanted: Wanted, printer: Printer) -> None:
    with open_source(name, wanted) as stream:
        printer.begin(_printable(name), stream.framing)
        clock = ReadClock(stream.reads)
        for record in decode(clock, stream.dialect, clock=clock, framing=stream.framing):
            printer.feed(record)
            if stream.is_live:
                sys.stdout.flush()
        printer.close()


def _printable(name: str) -> str:
    """Return a printable file name; names that are not valid UTF-8 cannot be written as JSON."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
