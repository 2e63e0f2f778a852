"""Options of `headrace models`."""

from __future__ import annotations

from argparse import ArgumentParser

DESCRIPTION = """\
List the models that a provider offers, as model strings for `headrace ask -m`. The provider is
asked with your key.
"""
EXAMPLES = """\
examples:
  headrace models openai
  headrace models ollama
  headrace models compatible --base-url http://127.0.0.1:8000/v1
  headrace models anthropic --json | jq -r .id
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument("provider", metavar="PROVIDER", help="a name of `headrace providers`")
    command.add_argument("--base-url", metavar="URL", help="address of the provider")
    command.add_argument("--json", action="store_true", help="print one JSON object per model")
