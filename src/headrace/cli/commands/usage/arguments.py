"""Options of `headrace usage`."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError

from headrace.cli.option import add_data
from headrace.cli.store_option import add_store

DESCRIPTION = """\
Sum up what the answers of a server have used: tokens and cost, by user, model, or day. It reads
the data folder of the server, which may be running, or the database of several servers.
"""
EXAMPLES = """\
examples:
  headrace usage
  headrace usage --by user,model
  headrace usage --by day --since 30d --user anna
  headrace usage --by month --json
"""
_UNITS = {"m": 60, "h": 3600, "d": 86_400}


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "--by",
        default="model",
        metavar="NAMES",
        help="what to sum up by: one or more of user, model, name, door, day, month and outcome,"
        " with commas (default: %(default)s)",
    )
    command.add_argument(
        "--since",
        type=_parse_span,
        metavar="SPAN",
        help="only the last minutes, hours or days, such as 90m, 12h or 30d",
    )
    command.add_argument("--user", metavar="NAME", help="only the answers of this user")
    command.add_argument("--json", action="store_true", help="print one JSON object per row")
    add_data(command)
    add_store(command)


def _parse_span(text: str) -> float:
    """Return the seconds of a span such as `30d`."""
    match = re.fullmatch(r"([0-9]{1,6})([mhd])", text)
    if match is None:
        raise ArgumentTypeError(f"expected a span such as 90m, 12h or 30d, got {text!r}")
    return float(int(match[1]) * _UNITS[match[2]])
