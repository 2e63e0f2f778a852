"""Options of `headrace requests`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_data, add_token_file

DESCRIPTION = """\
List what the answers of a server wait for, such as the approval of a call, or answer one of these
requests. The server that uses the data folder is asked, or the one at --url.
"""
EXAMPLES = """\
examples:
  headrace requests
  headrace requests --allow req_1f0c
  headrace requests --allow req_1f0c --value '{"amount": 4}'
  headrace requests --deny req_1f0c --reason 'too much'
  headrace requests --url https://chat.example.org --json

An id may be shortened as long as it is clear which one is meant. --value gives the result or form
that is asked for as JSON, or the text; for an approval it replaces the arguments of the call.

exit codes: 0: done; 1: the request was answered before, or does not exist, or the server refused;
2: wrong command line, or no server uses the data folder
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    decision = command.add_mutually_exclusive_group()
    decision.add_argument("--allow", metavar="ID", help="accept the request with this id")
    decision.add_argument("--deny", metavar="ID", help="deny the request with this id")
    command.add_argument("--value", metavar="JSON", help="the value that is asked for")
    command.add_argument("--reason", metavar="TEXT", help="why it is denied; the model is told")
    command.add_argument(
        "--always",
        action="store_true",
        help="approve later calls of the same tool in the same answer too",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object per request")
    command.add_argument("--url", metavar="URL", help="address of the server")
    add_token_file(command)
    add_data(command)
