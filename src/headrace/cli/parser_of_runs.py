"""The words of the commands that look at streams and runs: record, replay, inspect, and doctor,
which looks at everything else."""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli.option import add_color, add_wire_options

_REPLAY = """\
Play a recorded stream or a stored run again, at its own pace or faster: in
the terminal as `headrace ask` shows it, or in the page as a conversation.
Nobody is asked anything.
"""
_REPLAY_EXAMPLES = """\
examples:
  headrace replay answer.sse              a recorded stream, with its times
  headrace replay --speed 4 answer.sse    four times as fast
  headrace replay --speed max answer.sse | wc -w
  headrace replay last                    the newest run that is kept
  headrace replay run_4f2a8c1d --data ./data
  headrace replay --page last             the same in the page

times are those of FILE.chunks.json where it lies beside FILE, else --rate
reads a second; a run has those of its records, as long as the server keeps
them (--keep-logs). The server that holds the folder may run: it is only read.

exit code: 0 when it was play, also where it tells of a failure; 1 where
there is nothing to play; 2 for a wrong command line; 130 after Ctrl-C.
"""
_RECORD = """\
Record what a provider answers to any program: a proxy on this machine that
hands everything through as it is, and keeps the raw bytes of the answers with
their times. Keys are never written: of the headers only harmless ones are
kept, and what looks like a key is masked.
"""
_RECORD_EXAMPLES = """\
examples:
  headrace record --provider anthropic --out recordings
  headrace record --upstream https://gateway.example/v1 --out recordings

Set the base_url that it prints in your program, ask, and stop it with Ctrl-C:
  headrace decode recordings/001-messages.sse
  headrace replay recordings/001-messages.sse

each answer is three files:
  001-messages.sse               the raw bytes
  001-messages.sse.chunks.json   the length of each read, and the pause before
  001-messages.sse.request.json  what was asked, without keys
"""
_INSPECT = """\
Show where the time of a run or of a recorded stream went: thinking, tools and
text over time, the wait for the first of them, tokens per second, and the
stretches in which nothing came.
"""
_INSPECT_EXAMPLES = """\
examples:
  headrace inspect last                   the newest run that is kept
  headrace inspect run_4f2a8c1d --data ./data
  headrace inspect answer.sse             a recorded stream
  headrace inspect --svg run.svg last     the same as a picture
  headrace inspect --json last | jq .tokens_per_s

a run is named by its id, by that of its message, or by the beginning of
either. Its records tell how fast it came and where it paused; when they are
no longer kept, its message still tells when each part began and ended. The
server that holds the folder may run: it is only read.
"""
_DOCTOR = """\
Look whether everything is in its place, and say what is wrong and how to mend
it: versions, extras, keys (never shown), the port, the data folder, SQLite,
the page, the terminal, the clock. Nothing is changed, and only this machine
is asked.
"""
_DOCTOR_EXAMPLES = """\
examples:
  headrace doctor
  headrace doctor --data ./data --port 9000
  headrace doctor --json | jq '.[] | select(.state == "broken")'

exit code: 1 where something is broken, else 0.
"""
_DATA = "the server's data folder (default: the user's own)"


def add_replay(commands: Any) -> None:
    """`headrace replay`."""
    replay = _add_command(
        commands,
        "replay",
        "play a recorded stream or a stored run again",
        _REPLAY,
        _REPLAY_EXAMPLES,
    )
    replay.add_argument(
        "what", metavar="FILE|RUN", help="a recorded stream, the id of a run, or `last`"
    )
    replay.add_argument(
        "--speed",
        type=_speed,
        default=1.0,
        metavar="N",
        help="2 is twice as fast, max does not wait (default: 1)",
    )
    replay.add_argument(
        "--page", action="store_true", help="show it in the page, at an address that is printed"
    )
    replay.add_argument(
        "--port", type=int, default=0, help="of the page (default: any that is free)"
    )
    replay.add_argument(
        "--hide-reasoning", action="store_true", help="do not show what the model thinks"
    )
    replay.add_argument("--data", metavar="DIR", help=_DATA)
    add_wire_options(replay)
    add_color(replay, "in what the model thinks and does")


def add_record(commands: Any) -> None:
    """`headrace record`."""
    record = _add_command(
        commands,
        "record",
        "record what a provider answers, without the keys",
        _RECORD,
        _RECORD_EXAMPLES,
    )
    where = record.add_mutually_exclusive_group(required=True)
    where.add_argument("--provider", metavar="NAME", help="one that `headrace providers` lists")
    where.add_argument("--upstream", metavar="URL", help="any other address")
    record.add_argument(
        "--out", required=True, metavar="FOLDER", help="where to; nothing is written over"
    )
    record.add_argument(
        "--port", type=int, default=0, help="on 127.0.0.1 (default: any that is free)"
    )


def add_inspect(commands: Any) -> None:
    """`headrace inspect`."""
    inspect = _add_command(
        commands,
        "inspect",
        "show where the time of a run or a stream went",
        _INSPECT,
        _INSPECT_EXAMPLES,
    )
    inspect.add_argument(
        "what", metavar="RUN|FILE", help="the id of a run, `last`, or a recorded stream"
    )
    shape = inspect.add_mutually_exclusive_group()
    shape.add_argument("--svg", metavar="FILE", help="draw a picture, - for standard output")
    shape.add_argument("--json", action="store_true", help="print the numbers as JSON")
    inspect.add_argument("--data", metavar="DIR", help=_DATA)
    add_wire_options(inspect)
    add_color(inspect, "in the drawing")


def add_doctor(commands: Any) -> None:
    """`headrace doctor`."""
    doctor = _add_command(
        commands, "doctor", "say what is wrong here, and how to mend it", _DOCTOR, _DOCTOR_EXAMPLES
    )
    doctor.add_argument("--data", metavar="DIR", help=_DATA)
    doctor.add_argument(
        "--port", type=int, default=8700, help="that a server would take (default: 8700)"
    )
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")
    add_color(doctor, "in the findings")


def _add_command(commands: Any, name: str, words: str, about: str, examples: str) -> Any:
    return commands.add_parser(
        name,
        help=words,
        description=about,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _speed(text: str) -> float | None:
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, or max, not {text!r}")
    return speed
