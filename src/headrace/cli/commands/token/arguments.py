"""Options of `headrace token`."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from math import isfinite

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
  headrace token create ci --requests-per-minute 20 --tokens-per-day 1000000 --cost-per-month 25
  headrace token list
  headrace token rotate 1f3a5c7e9b2d --grace 2h
  headrace token revoke 1f3a5c7e9b2d
"""
LIMITS = tuple(
    f"{count}_per_{period}"
    for count in ("requests", "tokens", "cost")
    for period in ("minute", "day", "month")
)
"""The limits of an access token; the same names as in the file of a gateway."""
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
    _add_limits(create)
    listing = actions.add_parser(
        "list",
        help="show all access tokens: ids, users, when they end and were used last, and limits",
    )
    rotate = actions.add_parser(
        "rotate",
        help="print a new access token in place of one, which ends after a grace time; its limits"
        " stay, and count for both together",
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


def _add_limits(create: ArgumentParser) -> None:
    group = create.add_argument_group(
        "limits",
        "Most that the token may use in a minute, a day or a month (UTC). A question over the limit"
        " is refused with a 429 that says when to ask again.",
    )
    for name in LIMITS:
        count, _, period = name.partition("_per_")
        is_cost = count == "cost"
        what = "US dollars" if is_cost else count
        more = ", input and output together" if count == "tokens" else ""
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=_parse_cost if is_cost else _parse_count,
            metavar="USD" if is_cost else "N",
            help=f"{what} per {period}{more}",
        )


def _parse_count(text: str) -> int:
    """Return a limit of requests or tokens."""
    if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) == 0:
        raise ArgumentTypeError(f"expected a number such as 1000, got {text!r}")
    return int(text)


def _parse_cost(text: str) -> float:
    """Return a limit in US dollars."""
    try:
        cost = float(text)
    except ValueError:
        cost = 0.0
    if not isfinite(cost) or cost <= 0:
        raise ArgumentTypeError(f"expected US dollars such as 2.50, got {text!r}")
    return cost


def _parse_duration(text: str) -> int:
    """Return a time such as 30d in seconds."""
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if found is None:
        raise ArgumentTypeError(f"expected a time such as 12h or 30d, got {text!r}")
    return int(found[1]) * _UNITS[found[2]]
