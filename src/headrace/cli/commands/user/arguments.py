"""Options of `headrace user`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_data
from headrace.cli.store_option import add_store

DESCRIPTION = """\
Manage the accounts of people who sign in to a server that was started with --users. A password is
asked for on the terminal, or read from the first line of standard input; only its hash is stored.
A running server notices every change at once.
"""
EXAMPLES = """\
examples:
  headrace user add anna
  headrace user add boss --operator --generate
  printf '%s\\n' "$PASSWORD" | headrace user add bert
  headrace user list
  headrace user reset anna --generate
  headrace user disable bert
  headrace user export anna anna.jsonl
  headrace user delete anna
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="add an account")
    add.add_argument(
        "--operator", action="store_true", help="the user may also read the metrics of the server"
    )
    listing = actions.add_parser("list", help="show all accounts")
    disable = actions.add_parser(
        "disable", help="end the sign-ins of a user, and refuse the user's access tokens as well"
    )
    enable = actions.add_parser("enable", help="let a disabled user sign in again")
    reset = actions.add_parser("reset", help="set a new password, and end all sign-ins")
    export = actions.add_parser(
        "export", help="write everything that is stored of a user to a file, as lines of JSON"
    )
    delete = actions.add_parser("delete", help="delete everything that is stored of a user")
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    for action in (add, disable, enable, reset, export, delete):
        action.add_argument("name", metavar="NAME", help="name of the user")
    export.add_argument("file", metavar="FILE", help="a new file; -: standard output")
    for action in (add, reset):
        action.add_argument(
            "--generate", action="store_true", help="make up a password, and print it once"
        )
    for action in (add, listing, disable, enable, reset, export, delete):
        add_data(action)
        add_store(action)
