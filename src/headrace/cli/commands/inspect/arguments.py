"""Options of `headrace inspect`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_color, add_data, add_wire_options
from headrace.cli.store_option import add_log, add_store

DESCRIPTION = """\
Show where the time of a run or a recorded stream went: reasoning, tools and text over time, how
long each took to begin, tokens per second, and long pauses.
"""
EXAMPLES = """\
examples:
  headrace inspect last                   the newest stored run
  headrace inspect run_4f2a8c1d --data ./data
  headrace inspect answer.sse             a recorded stream
  headrace inspect --svg run.svg last     the same as a picture
  headrace inspect --json last | jq .tokens_per_s
  headrace inspect --otlp - last | curl -H 'content-type: application/json' \\
       --data-binary @- http://localhost:4318/v1/traces

A run is named by its id, by the id of its message, or by the beginning of either. Speed and
pauses come from its records; after they have been deleted, only the start and end of each part
are known. The data folder is only read, so a server may be running.
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "what", metavar="RUN|FILE", help="the id of a run, `last`, or a recorded stream"
    )
    shape = command.add_mutually_exclusive_group()
    shape.add_argument("--svg", metavar="FILE", help="draw a picture; - for standard output")
    shape.add_argument("--json", action="store_true", help="print the numbers as JSON")
    shape.add_argument(
        "--otlp",
        metavar="FILE",
        help="write the spans of the run as OTLP JSON, for a collector of OpenTelemetry; - for"
        " standard output",
    )
    add_data(command)
    add_store(command)
    add_log(command)
    add_wire_options(command)
    add_color(command, "in the drawing")
