"""Options of `headrace ask`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import EFFORTS, add_color, add_verbose

DESCRIPTION = """\
Ask a model one question. The answer goes to standard output as it streams. The model's reasoning
goes to standard error, dimmed, so that a pipe gets the answer alone.
"""
EXAMPLES = """\
examples:
  headrace ask -m anthropic:claude-sonnet-4-5 "Why is the sky blue?"
  headrace ask -m ollama:qwen3 --effort high "How many r in strawberry?"
  git diff | headrace ask -m openai:gpt-5 "Write a commit message" > message.txt
  headrace ask -m gemini:gemini-2.5-flash -f photo.png "What is this?"
  headrace ask -m llamacpp:any --base-url http://127.0.0.1:8080/v1 --json "hi" | jq .event
  headrace ask -m deepseek:deepseek-reasoner --record broken.sse "…"

`headrace providers` lists the provider names and the variables that hold their API keys.

exit codes: 0: answered; 1: the provider refused, or the answer broke off (standard error says
why); 2: wrong command line; 3: with --strict, a part of the stream could not be read;
130: stopped with Ctrl-C, after printing what had arrived
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "words", nargs="*", metavar="WORD", help="the question; piped input is added to it"
    )
    command.add_argument(
        "-m",
        "--model",
        metavar="PROVIDER:MODEL",
        help="the model to ask (default: the variable HEADRACE_MODEL)",
    )
    command.add_argument(
        "-f",
        "--file",
        action="append",
        default=[],
        metavar="FILE",
        help="a text, image or document to ask about; can be repeated",
    )
    command.add_argument("-s", "--instructions", metavar="TEXT", help="instructions for the model")
    command.add_argument("--effort", choices=EFFORTS, help="reasoning effort")
    command.add_argument("--max-tokens", type=int, metavar="N", help="maximum length of the answer")
    command.add_argument("--temperature", type=float, metavar="T", help="sampling temperature")
    command.add_argument("--base-url", metavar="URL", help="another address of the provider's API")
    command.add_argument("--hide-reasoning", action="store_true", help="do not show reasoning")
    command.add_argument("--json", action="store_true", help="print the events as JSON lines")
    command.add_argument(
        "--strict",
        action="store_true",
        help="exit with code 3 if a part of the stream could not be read",
    )
    command.add_argument(
        "--record", metavar="FILE", help="keep the raw bytes, with their times in FILE.chunks.json"
    )
    add_verbose(command)
    add_color(command, "in the reasoning")
