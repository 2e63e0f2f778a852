"""Options of `headrace serve`."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from headrace.cli.configuration import CONFIG_VARIABLE, Configuration, leave_unset
from headrace.cli.option import add_data, add_mcp
from headrace.cli.store_option import LOG_VARIABLE, STORE_VARIABLE, add_log, add_store

WORKER_OPTION: Final = "--worker-sockets"
DESCRIPTION = """\
Serve an agent: POST /api/chat streams its answers as server-sent events that can be resumed, and
everything is kept in one data folder. Without a model it serves the rehearsal model, which needs
no API key and no network.
"""
EXAMPLES = """\
examples:
  headrace serve
  headrace serve -m anthropic:claude-sonnet-4-5
  headrace serve -m anthropic:claude-sonnet-4-5 -m openai:gpt-5 --title-model openai:gpt-5-nano
  headrace serve agent.toml --port 9000 --data ./data
  headrace serve my_module:agent
  headrace serve --mcp 'npx -y @modelcontextprotocol/server-memory'
  headrace serve --gateway providers.toml --tokens
  headrace serve --config serve.toml
  headrace serve --users
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 headrace serve --otel
  headrace serve --store postgresql://headrace@db.internal/headrace --on-interrupt continue
  headrace serve --store postgresql://headrace@db.internal/headrace --workers 4
  curl -N http://127.0.0.1:8700/api/chat -H 'content-type: application/json' \\
       -d '{"message": "What is 12 * 34?"}'

agent.toml:
  model = "openai:gpt-5"
  instructions = "Answer in one sentence."
  tools = ["calculator", "clock", "notepad"]
  options = { effort = "high" }
  [mcp.files]
  command = "npx -y @modelcontextprotocol/server-filesystem /srv/files"
  needs_approval = true
  [mcp.search]
  url = "https://search.example.org/mcp"
  headers = { Authorization = "Bearer ${SEARCH_TOKEN}" }

serve.toml, with the names of the options (see `headrace config`):
  model = "openai:gpt-5"
  port = 9000
  tokens = true
  allow-host = ["chat.example.org"]

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
    """Declare the options. Those that are not given are None; see `create_configuration()`."""
    declare_settings(command)
    leave_unset(command)
    command.add_argument(
        "--config",
        metavar="FILE",
        help="a TOML file with settings, by the names of these options (default: the variable"
        f" {CONFIG_VARIABLE}). An option counts before its environment variable,"
        " HEADRACE_SERVE_NAME with its name in capitals, and that before the file; `headrace"
        " config` shows what counts",
    )
    # How the supervisor of several workers starts one: the descriptors of two sockets.
    command.add_argument(WORKER_OPTION, nargs=2, type=int, help=SUPPRESS)


def create_configuration() -> Configuration:
    """Return the settings of this command from all sources."""
    # Other commands read these too, and they keep passwords out of the list of processes.
    variables = {"store": STORE_VARIABLE, "log": LOG_VARIABLE}
    return Configuration(
        declare_settings, "HEADRACE_SERVE_NAME", positional="agents", variables=variables
    )


def declare_settings(command: ArgumentParser) -> None:
    """Declare the options that may also be set by a file or the environment."""
    _add_models(command)
    command.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=8700, help="default: 8700; 0: any free port")
    command.add_argument(
        "--workers",
        type=_parse_count,
        default=1,
        metavar="N",
        help="processes that serve on this port, one for each core or fewer; more than one need"
        " --store, and the limits below count for each of them (default: 1)",
    )
    _add_storage(command)
    command.add_argument(
        "--durable",
        action="store_true",
        help="wait for the disk at every commit: survives a power cut, but is much slower",
    )
    _add_user_options(command)
    command.add_argument(
        "--on-interrupt",
        choices=("close", "continue"),
        default="close",
        help="what happens to answers that were being written when the server stopped or was"
        " killed: they end as interrupted, or the next server continues them (default: close)",
    )
    command.add_argument(
        "--final-text",
        action="store_true",
        help="repeat the whole text of each reasoning part at its end (ux protocol)",
    )
    _add_log_options(command)
    _add_telemetry_options(command)
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


def _add_storage(command: ArgumentParser) -> None:
    """Declare where everything is stored."""
    add_data(command)
    add_store(command)
    add_log(command)


def _add_models(command: ArgumentParser) -> None:
    """Declare what is served."""
    command.add_argument(
        "agents",
        nargs="*",
        metavar="AGENT",
        help="a TOML file that describes an agent, or module:name of your own Agent; with several,"
        " users choose",
    )
    command.add_argument(
        "-m",
        "--model",
        action="append",
        default=[],
        metavar="PROVIDER:MODEL",
        help="the model to serve (default: rehearsal:demo; HEADRACE_MODEL is not used); can be"
        " repeated, and users choose",
    )
    command.add_argument(
        "--title-model",
        metavar="PROVIDER:MODEL",
        help="a model, a cheap one is enough, that writes the titles of conversations (default: the"
        " beginning of the first question)",
    )
    add_mcp(command)
    command.add_argument(
        "--gateway",
        metavar="FILE",
        help="a TOML file with models of providers, which clients of OpenAI's and Anthropic's APIs"
        " can ask for with the keys of this server",
    )


def _add_log_options(command: ArgumentParser) -> None:
    group = command.add_argument_group("log, on standard error")
    group.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="lines of text, or one JSON object a line with time, level, event, and the ids of"
        " requests and runs; never prompts, answers or keys (default: text)",
    )
    group.add_argument(
        "--access-log",
        action="store_true",
        help="log each request: method, path, status, duration, size, user and request id",
    )
    group.add_argument(
        "--verbose",
        action="store_true",
        help="print a line when thinking, text and tools of an answer begin and end, with the id of"
        " the request",
    )


def _add_user_options(command: ArgumentParser) -> None:
    """Declare who may use the server, and how long what they write is kept."""
    command.add_argument(
        "--tokens",
        action="store_true",
        help="require access tokens; this or --users is needed for several users, and for any host"
        " but 127.0.0.1",
    )
    command.add_argument(
        "--users",
        action="store_true",
        help="people sign in with the names and passwords of `headrace user`, and programs use"
        " access tokens; needs the extra users",
    )
    command.add_argument(
        "--keep-conversations",
        type=_parse_number,
        metavar="DAYS",
        help="delete conversations in which nothing has happened for so long (default: never)",
    )


def _add_telemetry_options(command: ArgumentParser) -> None:
    group = command.add_argument_group("OpenTelemetry")
    group.add_argument(
        "--otel",
        action="store_true",
        help="export traces and metrics with OTLP to OTEL_EXPORTER_OTLP_ENDPOINT (default:"
        " http://localhost:4318); needs the extra otel",
    )
    group.add_argument(
        "--otel-content",
        action="store_true",
        help="with --otel: also export prompts, answers, and arguments and results of tools,"
        " without what looks like an API key",
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

    group.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="address or network of a proxy whose headers count: X-Forwarded-For, and that of"
        " --trusted-user-header; can be repeated",
    )
    group.add_argument(
        "--trusted-user-header",
        default="",
        metavar="NAME",
        help="the header in which a --trusted-proxy names the user, such as X-Remote-User",
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
        Limit("--asks-per-minute", 60, "questions per minute, with users"),
        Limit("--runs-per-user", 20, "answers written at once, with users"),
        Limit("--watchers-per-user", 100, "open streams, with users"),
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
        Limit("--sign-in-idle", 336.0, "time after which an unused sign-in ends", "HOURS"),
        Limit("--sign-in-max", 2160.0, "time after which every sign-in ends", "HOURS"),
        Limit("--keep-logs", 168.0, "time that the records of a run are kept", "HOURS"),
    ),
}
"""Options that set limits, by the title of their group."""
