"""Options of `headrace replay`."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError

from headrace.cli.option import add_color, add_data, add_wire_options
from headrace.cli.store_option import add_log, add_store

DESCRIPTION = """\
Replay a recorded stream or a stored run, at its own pace or faster: in the terminal like
`headrace ask`, or in the web UI as a conversation. No provider is contacted.
"""
EXAMPLES = """\
examples:
  headrace replay answer.sse              a recorded stream, with its times
  headrace replay --speed 4 answer.sse    four times as fast
  headrace replay --speed max answer.sse | wc -w
  headrace replay last                    the newest stored run
  headrace replay run_4f2a8c1d --data ./data
  headrace replay --page last             the same in the web UI

A stream has the times of FILE.chunks.json beside it, or else --rate reads per second. A run has
the times of its records, as long as the server keeps them (--keep-logs). The data folder is only
read, so a server may be running.

exit codes: 0: replayed, also if the stream holds an error; 1: there is nothing to replay;
2: wrong command line; 130: stopped with Ctrl-C
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "what", metavar="FILE|RUN", help="a recorded stream, the id of a run, or `last`"
    )
    command.add_argument(
        "--speed",
        type=_parse_speed,
        default=1.0,
        metavar="N",
        help="2 is twice as fast, max does not wait (default: 1)",
    )
    command.add_argument(
        "--page", action="store_true", help="show it in the web UI, at an address that is printed"
    )
    command.add_argument(
        "--port", type=int, default=0, help="port of the web UI (default: any free port)"
    )
    command.add_argument("--hide-reasoning", action="store_true", help="do not show reasoning")
    add_data(command)
    add_store(command)
    add_log(command)
    add_wire_options(command)
    add_color(command, "in reasoning and tools")


def _parse_speed(text: str) -> float | None:
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        raise ArgumentTypeError(f"expected a number above 0, or max, not {text!r}")
    return speed
