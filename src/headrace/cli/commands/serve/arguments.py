"""Options of `headrace serve`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_data

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
  curl -N http://127.0.0.1:8700/api/chat -H 'content-type: application/json' \\
       -d '{"message": "What is 12 * 34?"}'

agent.toml:
  model = "openai:gpt-5"
  instructions = "Answer in one sentence."
  tools = ["calculator", "clock", "notepad"]
  options = { effort = "high" }
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
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
    command.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=8700, help="default: 8700; 0: any free port")
    add_data(command)
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
    _add_limits(command)


def _add_proxy_options(command: ArgumentParser) -> None:
    command.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another host name of this server; can be repeated",
    )
    command.add_argument(
        "--prefix",
        default="",
        metavar="PATH",
        help="path prefix that a proxy removes, such as /chat",
    )


def _add_limits(command: ArgumentParser) -> None:
    command.add_argument(
        "--asks-per-minute",
        type=int,
        default=60,
        metavar="N",
        help="questions per user and minute, with --tokens (default: 60)",
    )
    command.add_argument(
        "--runs-per-user",
        type=int,
        default=20,
        metavar="N",
        help="simultaneous answers per user, with --tokens (default: 20)",
    )
    command.add_argument(
        "--megabytes-per-user",
        type=int,
        default=1000,
        metavar="N",
        help="stored messages and records per user, with --tokens (default: 1000)",
    )
    command.add_argument(
        "--drain",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="how long running answers may take to finish when the server is stopped (default: 10)",
    )
    command.add_argument(
        "--keep-logs",
        type=float,
        default=168.0,
        metavar="HOURS",
        help="how long the records of a run are kept (default: 168, a week)",
    )
