"""Options of `headrace token`."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError

from headrace.cli.option import add_data
from headrace.cli.store_option import add_store

DESCRIPTION = """\
Manage access tokens for the users of a server that was started with --tokens or --users. An access
token is printed once, and only its hash is stored.
"""
EXAMPLES = """\
examples:
  headrace token create alice --name laptop
  headrace token create prometheus --scope metrics
  headrace token create ci --expires 30d
  headrace token list
  headrace token rotate 1f3a5c7e9b2d --grace 2h
  headrace token revoke 1f3a5c7e9b2d
"""
_DAY_S = 86_400
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": _DAY_S}


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create an access token and print it")
    create.add_argument("user", metavar="USER", help="the user it belongs to")
    create.add_argument("--name", default="", help="a note about its purpose")
    create.add_argument(
        "--scope",
        choices=("chat", "metrics"),
        default="chat",
        help="what it is for: the API and the web UI (chat, the default), or only /metrics",
    )
    create.add_argument(
        "--expires",
        type=_parse_duration,
        metavar="TIME",
        help="time after which it ends, such as 12h or 30d (default: never)",
    )
    listing = actions.add_parser(
        "list", help="show all access tokens: ids, users, when they end and were used last"
    )
    rotate = actions.add_parser(
        "rotate", help="print a new access token in place of one, which ends after a grace time"
    )
    rotate.add_argument("id", metavar="ID", help="its id from `headrace token list`")
    rotate.add_argument(
        "--grace",
        type=_parse_duration,
        default=_DAY_S,
        metavar="TIME",
        help="time for which the old one stays valid, such as 10m or 0s (default: 1d)",
    )
    revoke = actions.add_parser(
        "revoke", help="revoke an access token; its open streams end within a second or so"
    )
    revoke.add_argument("id", metavar="ID", help="its id from `headrace token list`")
    for action in (create, listing, rotate, revoke):
        add_data(action)
        add_store(action)


def _parse_duration(text: str) -> int:
    """Return a time such as 30d in seconds."""
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if found is None:
        raise ArgumentTypeError(f"expected a time such as 12h or 30d, got {text!r}")
    return int(found[1]) * _UNITS[found[2]]
