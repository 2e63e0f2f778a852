"""The entry point of the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from headrace.cli.parser import build_parser

# The exit code that shells report for a program ended by this signal.
_EXIT_INTERRUPTED = 130
_EXIT_BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: done. 1: something failed, and stderr says what. 2: wrong command line. 130: interrupted.
    141: the reader of the output has gone.
    """
    try:
        status = _run(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return _EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    return status


def _run(argv: Sequence[str] | None) -> int:
    parser = build_parser()
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    if options.command is None:
        parser.print_help()
        return 0
    from importlib import import_module

    status: int = import_module(f"headrace.cli.commands.{options.command}.command").run(options)
    return status


def _silence_stdout() -> None:
    """Replace stdout, since the interpreter's last flush would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
