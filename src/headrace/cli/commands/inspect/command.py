"""Runs `headrace inspect`: shows where the time of a run or a recorded stream went."""

from __future__ import annotations

import sys
from argparse import Namespace
from datetime import datetime
from pathlib import Path

from headrace.cli.sources.playback import Playback, open_playback
from headrace.cli.sources.source import STDIN, Wanted
from headrace.cli.terminal.output import Paint, Style, print_lines, terminal_columns, wants_color
from headrace.cli.terminal.safe_text import fit, wrap_text
from headrace.cli.timeline.layout import duration_words
from headrace.cli.timeline.printer import print_timeline, write_picture
from headrace.errors import InputError
from headrace.recording.file import load_recording
from headrace.server.storage.stored_run import StoredRun
from headrace.timeline.timeline import Timeline, timeline

_QUESTION_LINES = 2


def run(options: Namespace) -> int:
    """Draw the timeline; the exit code is 1 if there is nothing to draw."""
    wanted = Wanted(options.framing, options.dialect, options.rate)
    with open_playback(options.what, options, wanted) as playback:
        _show(playback, options)
    return 0


def _show(playback: Playback, options: Namespace) -> None:
    if options.otlp is not None:
        _write_otlp(playback, options.otlp)
        return
    told = _timeline(playback)
    if options.json:
        _print_json(playback, told)
    elif options.svg is not None:
        write_picture(told, options.svg)
    else:
        paint = Paint(wants_color(options.color, sys.stdout))
        columns = terminal_columns(sys.stdout)
        about = _about_file(playback.name, paint)
        if playback.run is not None:
            about = _about_run(playback.run, columns, paint)
        print_lines(*about)
        print_timeline(told, sys.stdout, columns, paint)


def _write_otlp(playback: Playback, file: str) -> None:
    """Write the spans of the records. Raises `InputError` if there are none."""
    import msgspec

    from headrace import __version__
    from headrace.telemetry.otlp import to_otlp
    from headrace.telemetry.span_builder import SpanBuilder, build_spans

    name = None if playback.run is None else playback.run.model
    spans = build_spans(playback.records, SpanBuilder(agent_name=name))
    if not spans:
        raise InputError("it has no records of a run, and only those have spans")
    data = msgspec.json.encode(to_otlp(spans, version=__version__)) + b"\n"
    if file == STDIN:
        sys.stdout.buffer.write(data)
        return
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror or error}") from None


def _timeline(playback: Playback) -> Timeline:
    """Return the timeline of the records or, if they are gone, of the stored message."""
    run = playback.run
    if run is None or run.records:
        return timeline(playback.records)
    if run.message is None:
        raise InputError("it has neither records nor a message")
    from headrace.timeline.from_message import message_timeline

    return message_timeline(run.message)


def _about_file(name: str, paint: Paint) -> list[str]:
    """Describe the time before the first read of a file."""
    if name == STDIN:
        return []
    wait_ms = (load_recording(Path(name)).ms or [0.0])[0]
    if not wait_ms:
        return []
    return [paint(f"the first read came after {duration_words(round(wait_ms))}", Style.DIM), ""]


def _about_run(run: StoredRun, columns: int, paint: Paint) -> list[str]:
    began = datetime.fromtimestamp(run.created_ms / 1000).astimezone()
    lines = [paint(fit(run.id, columns), Style.DIM)]
    lines.append(paint(fit(f"{began:%Y-%m-%d %H:%M:%S %Z}", columns), Style.DIM))
    if run.question:
        lines += wrap_text(f"“{run.question}”", columns, _QUESTION_LINES)
    return [*lines, *_remarks(run, columns, paint), ""]


def _remarks(run: StoredRun, columns: int, paint: Paint) -> list[str]:
    told: list[str] = []
    if run.is_live:
        told.append("the run is not finished: this is what its log has so far")
    elif not run.records:
        told.append("its records have expired: these are the times that its message keeps")
    return [paint(line, Style.YELLOW) for words in told for line in wrap_text(words, columns, 3)]


def _print_json(playback: Playback, told: Timeline) -> None:
    import msgspec

    from headrace.timeline.timeline import pace

    row = {
        "name": playback.name,
        "has_records": playback.run is None or bool(playback.run.records),
        "duration_ms": told.duration_ms,
        "tokens_per_s": pace(told),
        "gaps": told.gaps(),
        "timeline": told,
    }
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(row), indent=2) + b"\n")
