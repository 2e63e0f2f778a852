"""The words of the command line: commands, options and their help. Nothing runs here, and
nothing is imported that help does not need."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

# Written out, since importing them would cost more than the whole help; a test compares.
FRAMING_NAMES = ("sse", "ndjson", "json-array", "lines", "squeezed-sse")
DIALECT_NAMES = ("chat", "anthropic", "responses", "gemini", "ollama")
DEFAULT_RATE = 50.0

_DECODE = """\
Decode recorded provider streams: what a model streamed, as one list of typed events
whoever the provider is. Framing and dialect are detected; a folder is walked.
"""
_EXAMPLES = """\
examples:
  headrace decode answer.sse                       a row for each event
  curl -sN URL | headrace decode                   the same, as it arrives
  headrace decode --format events answer.sse | jq .event.type
  headrace decode --format message answer.sse      the whole message, put together
  headrace decode --format result recordings/ > results.jsonl
  headrace decode --framing lines --dialect chat payloads.txt

framing, where --framing is not given:
  by the ending: .sse, .squeezed.sse, .ndjson, .jsonl (lines), .json (json-array);
  of other files and of standard input: by the first bytes (sse, lines or json-array)

times count from 0 at the first read. They are the recorded ones where FILE.chunks.json
lies beside FILE ({"lens": [bytes of each read], "ms": [pause before each read]}).

exit code: 0, also where a stream tells of a provider's failure; 1 where a file could not
be decoded (the others are); 2 for a wrong command line.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\ntry: {self.prog} --help\n")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

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
    """The parser of the whole command line. `command` is None where none was given."""
    parser = _Parser(
        prog="headrace",
        description="The streaming output of reasoning models: one typed event stream for"
        " every provider.",
        epilog="headrace COMMAND --help tells more about a command.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_decode(commands)
    return parser


def _add_decode(commands: Any) -> None:
    decode = commands.add_parser(
        "decode",
        help="show recorded provider streams as events, messages or results",
        description=_DECODE,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    decode.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a recorded stream, a folder of them, or - for standard input (the default)",
    )
    decode.add_argument(
        "--format",
        choices=("table", "events", "message", "result"),
        default="table",
        help="table: a row an event (default); events: a JSON line an event; message: the"
        " folded message as JSON; result: one flat JSON line a file. For several files or a"
        " folder, events and messages are JSON lines that name their file",
    )
    _add_wire_options(decode)
    decode.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours in the table; auto (default): on a terminal, unless NO_COLOR is set",
    )


def _add_wire_options(decode: argparse.ArgumentParser) -> None:
    decode.add_argument(
        "--framing",
        choices=FRAMING_NAMES,
        metavar="NAME",
        help=f"how payloads are cut out of the bytes: {', '.join(FRAMING_NAMES)}",
    )
    decode.add_argument(
        "--dialect",
        choices=DIALECT_NAMES,
        metavar="NAME",
        help=f"what the payloads speak: {', '.join(DIALECT_NAMES)}",
    )
    decode.add_argument(
        "--rate",
        type=_rate,
        metavar="N",
        help=f"reads per second where no times are recorded (default: {DEFAULT_RATE:g}; a read"
        " then holds one event). Standard input is timed as it arrives unless this is given",
    )


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"expected reads per second, more than 0, not {text!r}")
    return rate
