"""Options of `headrace config`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.commands.serve import arguments as serve

DESCRIPTION = """\
Show the settings of `headrace serve` and where each comes from: an option, an environment variable,
the file, or the default. Takes the options of `headrace serve`. Passwords in addresses are not
shown.
"""
EXAMPLES = """\
examples:
  headrace config
  headrace config --config serve.toml
  headrace config --changed --port 9000
  headrace config --config serve.toml --max-runs 100 --json
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "--changed", action="store_true", help="show only settings that are not the default"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    serve.add_arguments(command)
