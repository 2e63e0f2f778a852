"""Options of `headrace providers`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_color

DESCRIPTION = """\
List all providers that a model string can name, the variable that holds each API key, and whether
it is set. The keys themselves are never shown.
"""
EXAMPLES = """\
examples:
  headrace providers
  headrace providers --json | jq -r .name
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument("--json", action="store_true", help="print one JSON object per provider")
    add_color(command, "in the table")
