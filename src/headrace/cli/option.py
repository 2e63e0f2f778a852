"""Options that several commands share, and the data folder that one of them names."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.wire.dialects import DIALECT_NAMES

if TYPE_CHECKING:
    from headrace.encoders import Effort

# Written out, because importing them would slow down the help; a test compares them.
FRAMING_NAMES = (
    *("sse", "ndjson", "json-array", "lines", "squeezed-sse", "grpc", "aws-event-stream"),
    "nul-json",
)
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
DEFAULT_RATE = 50.0


def add_color(command: argparse.ArgumentParser, where: str) -> None:
    """Add the option `--color`."""
    command.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help=f"colors {where}; auto (default): on a terminal, unless NO_COLOR is set",
    )


def add_verbose(command: argparse.ArgumentParser) -> None:
    """Add the option `--verbose`."""
    command.add_argument(
        "--verbose",
        action="store_true",
        help="print the log on standard error: requests, answers, retries and tools, without their"
        " content",
    )


def add_mcp(command: argparse.ArgumentParser) -> None:
    """Add the option `--mcp`."""
    command.add_argument(
        "--mcp",
        action="append",
        default=[],
        metavar="[NAME=]SERVER",
        help="an MCP server whose tools the model may use: a command, or an http(s) URL; can be"
        " repeated. The access token of a URL is read from HEADRACE_MCP_NAME_TOKEN",
    )


def add_data(command: argparse.ArgumentParser) -> None:
    """Add the option `--data`."""
    command.add_argument(
        "--data",
        metavar="DIR",
        help="the data folder (default: $XDG_DATA_HOME/headrace, or ~/.local/share/headrace)",
    )


def data_folder(given: str | None) -> Path:
    """Return `given`, or the user's own data folder if it is None."""
    if given is not None:
        return Path(given)
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "headrace"


def add_token_file(command: argparse.ArgumentParser) -> None:
    """Add the option `--token-file`."""
    command.add_argument(
        "--token-file",
        metavar="FILE",
        help="a file with the access token for a server that requires one (default: the variable"
        " HEADRACE_TOKEN)",
    )


def read_access_token(file: str | None) -> str | None:
    """Return the access token in a file, or that of the environment, or None."""
    if file is not None:
        return Path(file).read_text("utf-8").strip()
    return os.environ.get("HEADRACE_TOKEN") or None


def add_wire_options(command: argparse.ArgumentParser) -> None:
    """Add the options for reading a recorded stream."""
    command.add_argument(
        "--framing",
        choices=FRAMING_NAMES,
        metavar="NAME",
        help=f"how payloads are separated (default: detected): {', '.join(FRAMING_NAMES)}",
    )
    command.add_argument(
        "--dialect",
        choices=DIALECT_NAMES,
        metavar="NAME",
        help=f"the wire format of the payloads (default: detected): {', '.join(DIALECT_NAMES)}",
    )
    command.add_argument(
        "--rate",
        type=_rate,
        metavar="N",
        help=f"reads per second if no times are recorded (default: {DEFAULT_RATE:g}, one event"
        " per read). Standard input is timed as it arrives unless this is given",
    )


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"expected reads per second, more than 0, not {text!r}")
    return rate
