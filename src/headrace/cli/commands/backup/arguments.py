"""Options of `headrace backup`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_data

DESCRIPTION = """\
Copy a data folder into a new folder, also while a server is using it. The copy is everything as it
was at one moment: conversations, messages, the records of answers, access tokens and usage. It is
checked before it appears under its name. Keep it as safe as the data folder: it has the same
secrets.
"""
EXAMPLES = """\
examples:
  headrace backup /backups/monday
  headrace backup /backups/monday --data ./data
  headrace restore /backups/monday --data ./restored

A server that uses PostgreSQL is copied with pg_dump.
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument("folder", metavar="FOLDER", help="the folder to create")
    add_data(command)
