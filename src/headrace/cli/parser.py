"""The words of the command line: commands, options and their help. Nothing runs here, and
nothing is imported that help does not need."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from headrace.cli.option import EFFORTS, add_color, add_wire_options
from headrace.cli.parser_of_runs import add_doctor, add_inspect, add_record, add_replay
from headrace.projections.registry import PROTOCOLS

_ASK = """\
Ask a model once. The answer goes to standard output as it streams; what the model thinks
goes to standard error, dim, so that a pipe gets the answer alone.
"""
_ASK_EXAMPLES = """\
examples:
  headrace ask -m anthropic:claude-sonnet-4-5 "Why is the sky blue?"
  headrace ask -m ollama:qwen3 --effort high "How many r in strawberry?"
  git diff | headrace ask -m openai:gpt-5 "Write a commit message" > message.txt
  headrace ask -m gemini:gemini-2.5-flash -f photo.png "What is this?"
  headrace ask -m llamacpp:any --base-url http://127.0.0.1:8080/v1 --json "hi" | jq .event
  headrace ask -m deepseek:deepseek-reasoner --record broken.sse "…"

headrace providers lists what may stand before the colon, and where its key is looked for.

exit code: 0 for an answer; 1 where the provider refused or the answer broke off (standard
error says why); 2 for a wrong command line; 130 after Ctrl-C, with what had come.
"""

_CHAT = """\
Talk to a model in the terminal: its reasoning shows in a small window while it thinks, and
folds to a line when it answers. Conversations are kept in the folder that `headrace serve`
has; where a server runs on it, that server answers, and both show the same.
Without a model it talks to the rehearsal model, which needs no key and no network.
"""
_CHAT_EXAMPLES = """\
examples:
  headrace chat
  headrace chat -m anthropic:claude-sonnet-4-5 --effort high
  headrace chat --agent my_module:agent --data ./data
  headrace chat --continue
  printf 'What is 12 * 34?\\nAnd half of it?\\n' | headrace chat
  headrace chat --once < question.txt > answer.md

keys: Enter sends; Alt+Enter, or \\ before Enter, begins a new line; Ctrl-C stops the answer
and keeps it, twice leaves; Ctrl-D leaves. /help lists the commands, Tab completes them.

In a pipe every line is a message, unless --once is given. Answers go to standard output as
they come; tools, remarks and, with --reasoning, what the model thinks go to standard error.
The same holds in a terminal with --plain or TERM=dumb; no escape sequence is printed then.
NO_COLOR takes the colours away and leaves the rest.

exit code: 0; 1 where something was not answered (standard error says why); 2 for a wrong
command line; 130 after Ctrl-C twice.
"""

_DECODE = """\
Decode recorded provider streams: what a model streamed, as one list of typed events
whoever the provider is. Framing and dialect are detected; a folder is walked.
"""
_EXAMPLES = """\
examples:
  headrace decode answer.sse                       a row for each event
  curl -sN URL | headrace decode                   the same, as it arrives
  headrace decode --format events answer.sse | jq .event.type
  headrace decode --format message answer.sse      the whole message, put together
  headrace decode --format result recordings/ > results.jsonl
  headrace decode --as thinking answer.sse         what a page shows while it thinks
  headrace decode --as ux answer.sse               the same, segment by segment
  headrace decode --format timeline answer.sse     thinking, tools and text over time
  headrace decode --svg answer.svg answer.sse      the same as a picture
  headrace decode --framing lines --dialect chat payloads.txt

framing, where --framing is not given:
  by the ending: .sse, .squeezed.sse, .ndjson, .jsonl (lines), .json (json-array), .grpc;
  of other files and of standard input: by the first bytes (sse, lines, json-array or grpc)

times count from 0 at the first read. They are the recorded ones where FILE.chunks.json
lies beside FILE ({"lens": [bytes of each read], "ms": [pause before each read]}).

exit code: 0, also where a stream tells of a provider's failure; 1 where a file could not
be decoded (the others are); 2 for a wrong command line.
"""


_SERVE = """\
Serve an agent: POST /api/chat streams its answers as server-sent events, which can be
resumed; everything is kept in one folder. Without a model it serves the rehearsal model,
which needs no key and no network.
"""
_SERVE_EXAMPLES = """\
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


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\ntry: {self.prog} --help\n")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        import headrace

        print(f"headrace {headrace.__version__}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line. `command` is None where none was given."""
    parser = _Parser(
        prog="headrace",
        description="The streaming output of reasoning models: one typed event stream for"
        " every provider.",
        epilog="headrace COMMAND --help tells more about a command.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_ask(commands)
    _add_chat(commands)
    _add_decode(commands)
    add_doctor(commands)
    add_inspect(commands)
    _add_providers(commands)
    add_record(commands)
    add_replay(commands)
    _add_serve(commands)
    _add_token(commands)
    return parser


def _add_ask(commands: Any) -> None:
    ask = commands.add_parser(
        "ask",
        help="ask a model once and watch it think and answer",
        description=_ASK,
        epilog=_ASK_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument(
        "words", nargs="*", metavar="WORD", help="the question; what is piped in is added to it"
    )
    ask.add_argument(
        "-m",
        "--model",
        metavar="PROVIDER:MODEL",
        help="whom to ask; the default is the variable HEADRACE_MODEL",
    )
    ask.add_argument(
        "-f",
        "--file",
        action="append",
        default=[],
        metavar="FILE",
        help="a text, image or document to ask about; may be given several times",
    )
    ask.add_argument("-s", "--instructions", metavar="TEXT", help="instructions above the question")
    ask.add_argument("--effort", choices=EFFORTS, help="how hard to think")
    ask.add_argument("--max-tokens", type=int, metavar="N", help="the longest answer")
    ask.add_argument("--temperature", type=float, metavar="T", help="how freely to choose words")
    ask.add_argument("--base-url", metavar="URL", help="another address of the same provider")
    ask.add_argument(
        "--hide-reasoning", action="store_true", help="do not show what the model thinks"
    )
    ask.add_argument("--json", action="store_true", help="print the events as JSON lines")
    ask.add_argument(
        "--record", metavar="FILE", help="keep the raw bytes, with their times in FILE.chunks.json"
    )
    add_color(ask, "in what the model thinks")


def _add_chat(commands: Any) -> None:
    chat = commands.add_parser(
        "chat",
        help="talk to a model in the terminal",
        description=_CHAT,
        epilog=_CHAT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chat.add_argument(
        "-m",
        "--model",
        metavar="PROVIDER:MODEL",
        help="whom to talk to; the default is the variable HEADRACE_MODEL, or rehearsal:demo."
        " Where a server answers: one of its models",
    )
    chat.add_argument(
        "--agent",
        metavar="AGENT",
        help="a TOML file that describes an agent, or module:name of an Agent of yours",
    )
    chat.add_argument(
        "--data", metavar="DIR", help="where everything is kept (default: the user's data folder)"
    )
    chat.add_argument(
        "--continue", dest="resume", action="store_true", help="go on with the last conversation"
    )
    chat.add_argument("--conversation", metavar="ID", help="go on with this conversation")
    chat.add_argument("--effort", choices=EFFORTS, help="how hard to think")
    chat.add_argument(
        "--reasoning",
        action=argparse.BooleanOptionalAction,
        help="show what the model thinks (default: in a terminal, and not where it is plain)",
    )
    chat.add_argument("--plain", action="store_true", help="print no escape sequences")
    chat.add_argument(
        "--once", action="store_true", help="all of the piped input is one message; answer it"
    )
    chat.add_argument(
        "--token-file",
        metavar="FILE",
        help="holds the token for a server that asks for one (default: the variable"
        " HEADRACE_TOKEN)",
    )


def _add_providers(commands: Any) -> None:
    providers = commands.add_parser(
        "providers",
        help="list the providers, and whether their keys are there",
        description="All providers that a model string may name, the variable that holds their"
        " key, and whether it is set. Keys themselves are never shown.",
    )
    providers.add_argument("--json", action="store_true", help="one JSON object a provider")
    add_color(providers, "in the table")


def _add_serve(commands: Any) -> None:
    serve = commands.add_parser(
        "serve",
        help="serve an agent over HTTP, with a page to talk to it",
        description=_SERVE,
        epilog=_SERVE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument(
        "agent",
        nargs="?",
        metavar="AGENT",
        help="a TOML file that describes it, or module:name of an Agent of yours",
    )
    serve.add_argument("-m", "--model", metavar="PROVIDER:MODEL", help="default: rehearsal:demo")
    serve.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8700, help="default: 8700; 0: any that is free")
    serve.add_argument(
        "--data", metavar="DIR", help="where everything is kept (default: the user's data folder)"
    )
    serve.add_argument(
        "--durable",
        action="store_true",
        help="wait for the disk at every commit: survives a power cut, much slower",
    )
    serve.add_argument(
        "--tokens", action="store_true", help="ask for a token: needed for several users"
    )
    serve.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name under which it may be reached; may be given several times",
    )
    serve.add_argument(
        "--prefix",
        default="",
        metavar="PATH",
        help="what a proxy takes away in front of each path, such as /chat",
    )
    serve.add_argument(
        "--asks-per-minute",
        type=int,
        default=60,
        metavar="N",
        help="how often one user may ask, with --tokens (default: 60)",
    )
    serve.add_argument(
        "--runs-per-user",
        type=int,
        default=20,
        metavar="N",
        help="how many answers of one user are written at once, with --tokens (default: 20)",
    )
    serve.add_argument(
        "--drain",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="how long answers may go on when it is told to stop (default: 10)",
    )
    serve.add_argument(
        "--keep-logs",
        type=float,
        default=168.0,
        metavar="HOURS",
        help="how long the records of a run are kept (default: a week)",
    )


def _add_token(commands: Any) -> None:
    token = commands.add_parser(
        "token",
        help="make, list and revoke tokens for the users of a server",
        description="Tokens for the users of a server that was started with --tokens. A token is"
        " printed once, and only its hash is kept.",
    )
    actions = token.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_Parser
    )
    create = actions.add_parser("create", help="make one and print it")
    create.add_argument("user", metavar="USER", help="whose it is")
    create.add_argument("--name", default="", help="what it is for")
    listed = actions.add_parser("list", help="show the ids and owners of all, never a token")
    revoke = actions.add_parser("revoke", help="forget one, from the next request on")
    revoke.add_argument("id", metavar="ID", help="its id, as `list` shows it")
    for action in (create, listed, revoke):
        action.add_argument("--data", metavar="DIR", help="the server's data folder")


def _add_decode(commands: Any) -> None:
    decode = commands.add_parser(
        "decode",
        help="show recorded provider streams as events, messages or results",
        description=_DECODE,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    decode.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a recorded stream, a folder of them, or - for standard input (the default)",
    )
    decode.add_argument(
        "--format",
        choices=("table", "events", "message", "result", "timeline"),
        help="table: a row an event (default); events: a JSON line an event; message: the"
        " folded message as JSON; result: one flat JSON line a file; timeline: its phases drawn"
        " over time. For several files or a folder, events and messages are JSON lines that name"
        " their file",
    )
    decode.add_argument(
        "--as",
        dest="protocol",
        choices=tuple(PROTOCOLS),
        help="show the frames of a protocol, as a client of the server gets them. "
        + "; ".join(f"{row.name}: {row.description}" for row in PROTOCOLS.values())
        + ". --format table: one row per frame; events: its payload",
    )
    decode.add_argument(
        "--svg",
        metavar="FILE",
        help="draw the timeline of one stream as an SVG, - for standard output",
    )
    add_wire_options(decode)
    add_color(decode, "in the table and the timeline")
