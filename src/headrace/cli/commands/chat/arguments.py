"""Options of `headrace chat`."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction

from headrace.cli.option import EFFORTS, add_data, add_mcp, add_token_file, add_verbose

DESCRIPTION = """\
Chat with a model in the terminal. Its reasoning shows in a small window while it thinks, and
folds to one line when it answers. Conversations are kept in the same data folder as those of
`headrace serve`; if a server is already using that folder, the chat
connects to it, and conversations appear in both.
Without a model the rehearsal model answers, which needs no API key and no network.
"""
EXAMPLES = """\
examples:
  headrace chat
  headrace chat -m anthropic:claude-sonnet-4-5 --effort high
  headrace chat --agent my_module:agent --data ./data
  headrace chat --mcp 'files=npx -y @modelcontextprotocol/server-filesystem .'
  headrace chat --continue
  printf 'What is 12 * 34?\\nAnd half of it?\\n' | headrace chat
  headrace chat --once < question.txt > answer.md

keys: Enter sends; Alt+Enter, or \\ before Enter, starts a new line; Ctrl-C stops the answer and
keeps what has arrived, a second Ctrl-C quits; Ctrl-D quits. /help lists the commands, Tab
completes them.

What you type during an answer is asked next. If a call needs approval, the chat shows it and asks:
y allows it, n denies it, e edits its arguments, a allows all calls of this tool in this answer.

In a pipe every line is a message, unless --once is given. Answers go to standard output as they
arrive; tools, notes and, with --reasoning, the reasoning go to standard error. In a terminal,
--plain or TERM=dumb does the same, and no escape sequence is printed. NO_COLOR turns off colors.

exit codes: 0: done; 1: something was not answered (standard error says why); 2: wrong command
line; 130: quit with Ctrl-C
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "-m",
        "--model",
        metavar="PROVIDER:MODEL",
        help="the model to chat with (default: the variable HEADRACE_MODEL, or rehearsal:demo);"
        " if a server answers, one of its models",
    )
    command.add_argument(
        "--agent",
        metavar="AGENT",
        help="a TOML file that describes an agent, or module:name of your own Agent",
    )
    add_mcp(command)
    add_data(command)
    command.add_argument(
        "--continue", dest="resume", action="store_true", help="continue the last conversation"
    )
    command.add_argument(
        "-f",
        "--file",
        action="append",
        default=[],
        metavar="FILE",
        help="attach a text, image or document to the first message; can be repeated",
    )
    command.add_argument("--conversation", metavar="ID", help="continue this conversation")
    command.add_argument("--effort", choices=EFFORTS, help="reasoning effort")
    command.add_argument(
        "--reasoning",
        action=BooleanOptionalAction,
        help="show the reasoning (default: only in a live terminal)",
    )
    command.add_argument("--plain", action="store_true", help="print no escape sequences")
    command.add_argument(
        "--once", action="store_true", help="treat the whole piped input as one message"
    )
    add_token_file(command)
    add_verbose(command)
