"""Options of `headrace restore`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_data

DESCRIPTION = """\
Put a copy of `headrace backup` into a data folder. The copy is read and checked first. A folder
that has a database already stays as it is.
"""
EXAMPLES = """\
examples:
  headrace restore /backups/monday --data ./restored
  headrace serve --data ./restored
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument("folder", metavar="FOLDER", help="the folder that `headrace backup` made")
    add_data(command)
