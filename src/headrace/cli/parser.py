"""Builds the parser of the whole command line. Nothing is run here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from headrace.cli.commands import COMMANDS


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\ntry: {self.prog} --help\n")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for, because that is slow."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        import headrace

        print(f"headrace {headrace.__version__}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser. Its result has `command`, which is None if no command was given."""
    parser = _Parser(
        prog="headrace",
        description="Ask, chat with and serve reasoning models, and decode, record and replay their"
        " streams.",
        epilog="Run `headrace COMMAND --help` for more about a command.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        arguments = import_module(f"headrace.cli.commands.{name}.arguments")
        command = commands.add_parser(
            name,
            help=summary,
            description=arguments.DESCRIPTION,
            epilog=arguments.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        arguments.add_arguments(command)
    return parser
