"""Options of `headrace doctor`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_color, add_data

DESCRIPTION = """\
Check the installation and say what is wrong and how to fix it: versions, extras, API keys (never
shown), the port, the data folder, SQLite, the web UI, the terminal and the clock. Nothing is
changed, and no other machine is contacted.
"""
EXAMPLES = """\
examples:
  headrace doctor
  headrace doctor --data ./data --port 9000
  headrace doctor --json | jq '.[] | select(.state == "error")'

exit codes: 0: nothing is broken; 1: something is broken
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    add_data(command)
    command.add_argument("--port", type=int, default=8700, help="port to check (default: 8700)")
    command.add_argument("--json", action="store_true", help="print the findings as JSON")
    add_color(command, "in the findings")
