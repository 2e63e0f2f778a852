"""Options of `headrace serve`."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from headrace.cli.option import add_data
from headrace.cli.store_option import add_store

DESCRIPTION = """\
Serve an agent: POST /api/chat streams its answers as server-sent events that can be resumed, and
everything is kept in one data folder. Without a model it serves the rehearsal model, which needs
no API key and no network.
"""
EXAMPLES = """\
examples:
  headrace serve
  headrace serve -m anthropic:claude-sonnet-4-5
  headrace serve agent.toml --port 9000 --data ./data
  headrace serve my_module:agent
  headrace serve --gateway providers.toml --tokens
  headrace serve --store postgresql://headrace@db.internal/headrace --on-interrupt continue
  curl -N http://127.0.0.1:8700/api/chat -H 'content-type: application/json' \\
       -d '{"message": "What is 12 * 34?"}'

agent.toml:
  model = "openai:gpt-5"
  instructions = "Answer in one sentence."
  tools = ["calculator", "clock", "notepad"]
  options = { effort = "high" }

providers.toml:
  [models.fast]
  model = "anthropic:claude-haiku-4-5"
  fallback = ["openai:gpt-5-mini"]
  [limits]
  requests_per_minute = 60
  cost_per_month = 20.0
  [users.anna]
  models = ["fast"]
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    _add_models(command)
    command.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=8700, help="default: 8700; 0: any free port")
    add_data(command)
    add_store(command)
    command.add_argument(
        "--durable",
        action="store_true",
        help="wait for the disk at every commit: survives a power cut, but is much slower",
    )
    command.add_argument(
        "--tokens",
        action="store_true",
        help="require access tokens; needed for several users, and for any host but 127.0.0.1",
    )
    command.add_argument(
        "--on-interrupt",
        choices=("close", "continue"),
        default="close",
        help="what happens to answers that were being written when the server stopped or was"
        " killed: they end as interrupted, or the next server continues them"
        " (default: %(default)s)",
    )
    command.add_argument(
        "--final-text",
        action="store_true",
        help="repeat the whole text of each reasoning part at its end (ux protocol)",
    )
    command.add_argument(
        "--verbose",
        action="store_true",
        help="print a line when thinking, text and tools of an answer begin and end, with the id of"
        " the request",
    )
    _add_proxy_options(command)
    for title, options in LIMITS.items():
        group = command.add_argument_group(title)
        for option in options:
            group.add_argument(
                option.name,
                type=option.type,
                default=option.default,
                metavar=option.unit,
                help=f"{option.help} (default: {option.default:g})",
            )


def _add_models(command: ArgumentParser) -> None:
    """Declare what is served."""
    command.add_argument(
        "agent",
        nargs="?",
        metavar="AGENT",
        help="a TOML file that describes an agent, or module:name of your own Agent",
    )
    command.add_argument(
        "-m",
        "--model",
        metavar="PROVIDER:MODEL",
        help="the model to serve (default: rehearsal:demo; HEADRACE_MODEL is not used)",
    )
    command.add_argument(
        "--gateway",
        metavar="FILE",
        help="a TOML file with models of providers, which clients of OpenAI's and Anthropic's APIs"
        " can ask for with the keys of this server",
    )


def _add_proxy_options(command: ArgumentParser) -> None:
    group = command.add_argument_group("behind a proxy")
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another host name of this server; can be repeated",
    )
    group.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        type=_parse_origin,
        help="an origin whose pages may use this server, such as https://app.example.org; can be"
        " repeated",
    )
    group.add_argument(
        "--prefix",
        default="",
        metavar="PATH",
        help="path prefix that a proxy removes, such as /chat",
    )


def _parse_origin(text: str) -> str:
    """Return an origin as browsers send it."""
    if re.fullmatch(
        r"https?://[a-z0-9.\-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?", text
    ):
        return text
    raise ArgumentTypeError(f"expected an origin such as https://app.example.org, got {text!r}")


class Limit(NamedTuple):
    """An option that sets a limit of the server."""

    name: str
    default: int | float
    help: str
    unit: str = "N"

    @property
    def type(self) -> Callable[[str], int | float]:
        """Function that parses the value."""
        return _parse_count if isinstance(self.default, int) else _parse_number


def _parse_count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return number


def _parse_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise ArgumentTypeError(f"expected a number from 0 on, got {text!r}")
    return number


LIMITS: Final[Mapping[str, tuple[Limit, ...]]] = {
    "limits of the server": (
        Limit("--max-runs", 500, "answers written at once, for all users"),
        Limit("--watchers-per-run", 200, "open streams of one answer"),
        Limit(
            "--max-connections",
            5000,
            "open connections; at most half of the files that the process may open",
        ),
        Limit(
            "--waiting-per-address",
            256,
            "connections of one address without a complete request; behind a proxy all clients"
            " have its address",
        ),
        Limit("--max-body", 1000, "longest request body", "KILOBYTES"),
        Limit(
            "--max-upload",
            32_000,
            "longest request body of APIs that send images, files and whole conversations",
            "KILOBYTES",
        ),
    ),
    "limits for each user": (
        Limit("--asks-per-minute", 60, "questions per minute, with --tokens"),
        Limit("--runs-per-user", 20, "answers written at once, with --tokens"),
        Limit("--watchers-per-user", 100, "open streams, with --tokens"),
        Limit("--searches-per-minute", 120, "searches per minute"),
        Limit("--megabytes-per-user", 1000, "stored messages and records"),
    ),
    "time limits": (
        Limit("--head-timeout", 10.0, "time to send the head of a request", "SECONDS"),
        Limit("--body-timeout", 30.0, "time to send the body of a request", "SECONDS"),
        Limit(
            "--send-timeout",
            20.0,
            "time after which a client that reads nothing is disconnected",
            "SECONDS",
        ),
        Limit(
            "--drain",
            10.0,
            "time that running answers have to finish when the server is stopped",
            "SECONDS",
        ),
        Limit(
            "--lease",
            15.0,
            "time after which other servers take the answers of one that is gone, with --store",
            "SECONDS",
        ),
        Limit(
            "--waiting-stream",
            300.0,
            "time that a stream stays open while its run waits for input",
            "SECONDS",
        ),
        Limit("--keep-logs", 168.0, "time that the records of a run are kept", "HOURS"),
    ),
}
"""Options that set limits, by the title of their group."""
