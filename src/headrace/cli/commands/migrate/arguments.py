"""Options of `headrace migrate`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_data
from headrace.cli.store_option import add_store

DESCRIPTION = """\
Copy everything of a data folder into a PostgreSQL database: conversations, messages, the records of
answers, access tokens and usage. Stop the server first. The copy is one transaction and is compared
with the folder before it is committed; the folder stays as it is.
"""
EXAMPLES = """\
examples:
  headrace migrate --data ./data --store postgresql://headrace@db.internal/headrace
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    add_data(command)
    add_store(command)
