"""Options of `headrace token`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_data
from headrace.cli.store_option import add_store

DESCRIPTION = """\
Manage access tokens for the users of a server that was started with --tokens. An access token is
printed once, and only its hash is stored.
"""
EXAMPLES = """\
examples:
  headrace token create alice --name laptop
  headrace token create prometheus --scope metrics
  headrace token list
  headrace token revoke 1f3a5c7e9b2d
"""


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
    listing = actions.add_parser("list", help="show the ids and users of all access tokens")
    revoke = actions.add_parser(
        "revoke", help="revoke an access token; its open streams end within a second or so"
    )
    revoke.add_argument("id", metavar="ID", help="its id from `headrace token list`")
    for action in (create, listing, revoke):
        add_data(action)
        add_store(action)
