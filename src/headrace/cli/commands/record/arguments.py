"""Options of `headrace record`."""

from __future__ import annotations

from argparse import ArgumentParser

DESCRIPTION = """\
Run a proxy on this machine that records what a provider answers to any program. Everything passes
through unchanged; the raw bytes of the responses are kept with their times. API keys are never
written: only harmless headers are kept, and anything that looks like a key is masked.
"""
EXAMPLES = """\
examples:
  headrace record --provider anthropic --out recordings
  headrace record --upstream https://gateway.example/v1 --out recordings

Set the base_url that it prints in your program, send a request, and stop it with Ctrl-C. Then:
  headrace decode recordings/001-messages.sse
  headrace replay recordings/001-messages.sse

Each response is three files:
  001-messages.sse               the raw bytes
  001-messages.sse.chunks.json   the length of each read, and the pause before it
  001-messages.sse.request.json  the request, without API keys
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    where = command.add_mutually_exclusive_group(required=True)
    where.add_argument("--provider", metavar="NAME", help="a name from `headrace providers`")
    where.add_argument("--upstream", metavar="URL", help="any other address")
    command.add_argument(
        "--out", required=True, metavar="FOLDER", help="output folder; no file is overwritten"
    )
    command.add_argument(
        "--port", type=int, default=0, help="port on 127.0.0.1 (default: any free port)"
    )
