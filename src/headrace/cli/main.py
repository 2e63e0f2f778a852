"""The entry point of the command line."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from headrace.cli.parser import build_parser
from headrace.cli.terminal.output import silence_stdout

# The exit code that shells report for a program ended by this signal.
_EXIT_INTERRUPTED = 130
_EXIT_BROKEN_PIPE = 141
# The extra of each optional package.
_EXTRAS = {
    "aiohttp": "http",
    "starlette": "server",
    "uvicorn": "server",
    "rich": "chat",
    "prompt_toolkit": "chat",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: done. 1: something failed, and stderr says what. 2: wrong command line. 130: interrupted.
    141: the reader of the output has gone.
    """
    try:
        status = _run(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
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
    return _run_command(options)


def _run_command(options: Namespace) -> int:
    from headrace.cli.terminal.safe_text import error_text, visible_lines
    from headrace.errors import HeadraceError

    try:
        command = import_module(f"headrace.cli.commands.{options.command}.command")
        status: int = command.run(options)
        return status
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as error:
        text = _describe_missing(options.command, error)
        if text is None:
            raise
    except (HeadraceError, OSError) as error:
        text = error_text(error, getattr(options, "what", None))
    print(f"headrace {options.command}: {visible_lines(text)}", file=sys.stderr)
    return 1


def _describe_missing(command: str, error: ModuleNotFoundError) -> str | None:
    """Say which extra has a missing package, or return None if none has it."""
    name = (error.name or "").split(".")[0]
    if name not in _EXTRAS:
        return None
    extra = "chat" if command == "chat" else _EXTRAS[name]
    other = ", or use --plain" if _EXTRAS[name] == "chat" else ""
    return f"{name} is missing: install headrace[{extra}]{other}"
