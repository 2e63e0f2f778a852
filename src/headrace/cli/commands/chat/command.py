"""Runs `headrace chat`: sets up model, client and display."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.commands.chat.chat import Chat, error_text, model_line
from headrace.cli.commands.chat.display.display import Display
from headrace.cli.commands.chat.display.input_lines import InputLines
from headrace.cli.commands.chat.offers import format_change
from headrace.cli.commands.chat.slash_command import completions
from headrace.cli.commands.chat.watcher import Interrupts, Watcher
from headrace.cli.option import data_folder, read_access_token
from headrace.cli.terminal.output import is_terminal
from headrace.client import AsyncClient
from headrace.errors import HeadraceError, UsageError

if TYPE_CHECKING:
    from headrace.engine import Agent
    from headrace.mcp import MCP, ToolChange

HISTORY_FILE = "chat-history.jsonl"
"""What was typed at the prompt, in the data folder."""
_TERMINATED = 143


def run(options: Namespace) -> int:
    """Run the chat; the exit code says whether everything was answered."""
    try:
        return asyncio.run(_talk(options))
    except (HeadraceError, OSError) as error:
        print(f"headrace chat: {error_text(error)}", file=sys.stderr)
        return 1


class _DisplayHandler(logging.Handler):
    """Prints log messages where they do not disturb the screen."""

    def __init__(self, display: Display, level: int = logging.WARNING) -> None:
        super().__init__(level)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self._display.complain(record.getMessage())
        else:
            self._display.note(f"{record.name}: {record.getMessage()}")


def _show_log(display: Display, *, is_verbose: bool) -> None:
    """Show all records, or only warnings about the data folder and about models that failed: the
    chat itself reports all other problems."""
    if is_verbose:
        logger = logging.getLogger("headrace")
        logger.addHandler(_DisplayHandler(display, logging.DEBUG))
        logger.setLevel(logging.DEBUG)
        return
    for name in ("headrace.server", "headrace.turn"):
        logging.getLogger(name).addHandler(_DisplayHandler(display))


class Choice:
    """The agent that answers if no server does. It is created when it is first needed."""

    def __init__(
        self, where: str | None, model: str | None, servers: Sequence[str], data: Path
    ) -> None:
        self._where = where
        self.model = model
        self._servers = servers
        self._data = data
        self._sources: list[MCP] | None = None
        self._agent: Agent | None = None
        self.on_change: Callable[[ToolChange], None] | None = None
        """Called when an MCP server describes a tool differently than before."""

    def sources(self) -> list[MCP]:
        """Return the MCP servers of the agent."""
        from headrace.mcp import MCP

        return [source for source in self.agent().tools.sources if isinstance(source, MCP)]

    def agent(self) -> Agent:
        """Return the agent. Raises `UsageError` if it cannot be created."""
        if self._agent is None:
            self._agent = self._make_agent(self.model)
        return self._agent

    def choose(self, name: str) -> None:
        """Use another model for the same agent."""
        self._agent = self._make_agent(name)

    def _make_agent(self, model: str | None) -> Agent:
        from headrace.server.agent_config import load_agent
        from headrace.server.mcp_config import read_option

        # The agent may be in a module of the current folder.
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        is_module = self._where is not None and not self._where.endswith(".toml")
        is_default = model is not None and model == os.environ.get("HEADRACE_MODEL")
        mcp_options = self._create_mcp_options()
        if self._sources is None:
            self._sources = [read_option(text, mcp_options) for text in self._servers]
        agent = load_agent(
            self._where,
            None if is_module and is_default else model,
            sources=self._sources,
            mcp_options=mcp_options,
        )
        # The agent is closed after each answer; the servers go on.
        for source in agent.tools.sources:
            source.hold()
        # Errors such as a missing key are reported before the first question.
        agent.check()
        return agent

    def _create_mcp_options(self) -> dict[str, Any]:
        from headrace.server.mcp_config import remember_tools

        return {**remember_tools(self._data), "on_change": self._tell_change}

    def _tell_change(self, change: ToolChange) -> None:
        if self.on_change is not None:
            self.on_change(change)


async def _talk(options: Namespace) -> int:
    is_piped = not sys.stdin.isatty()
    is_alive = not options.plain and not is_piped and is_terminal(sys.stdout)
    model = options.model or os.environ.get("HEADRACE_MODEL")
    choice = Choice(options.agent, model, options.mcp, data_folder(options.data))
    display, listen, interrupt = _make_display(options, is_alive=is_alive)
    interrupts = Interrupts(time.monotonic)
    watcher = Watcher(interrupts, listen)
    client = AsyncClient.for_folder(
        data_folder(options.data),
        choice.agent,
        access_token=read_access_token(options.token_file),
        on_wait=watcher.waits,
    )
    choice.on_change = lambda change: display.complain(format_change(change))
    chat = Chat(client, display, choice, interrupts, watcher)
    _listen(watcher, interrupt)
    _show_log(display, is_verbose=options.verbose)
    try:
        code = await _begin(chat, client, display, options, choice, is_quiet=is_piped)
        # At a terminal the user has seen the error; a script needs the exit code.
        return 1 if is_piped and chat.has_failed and not code else code
    except asyncio.CancelledError:
        return _TERMINATED


def _make_display(
    options: Namespace, *, is_alive: bool
) -> tuple[Display, Callable[[], AbstractContextManager[None]], Callable[[], None]]:
    """Return the display, what listens to the keyboard during an answer, and how to tell the
    display about Ctrl-C while it reads."""
    if is_alive:
        from headrace.cli.commands.chat.display.terminal import TerminalDisplay

        shows = options.reasoning is not False
        history = data_folder(options.data) / HISTORY_FILE
        terminal = TerminalDisplay(_completes, shows_reasoning=shows, history=history)
        return terminal, terminal.listen, lambda: None
    from headrace.cli.commands.chat.display.plain import PlainDisplay

    lines = InputLines(is_whole=options.once)
    plain = PlainDisplay(lines, shows_reasoning=options.reasoning is True)
    return plain, nullcontext, lines.interrupt


def _completes(line: str) -> list[tuple[str, str]]:
    from headrace.providers import CATALOG

    return list(completions(line, [f"{name}:" for name in CATALOG]))


def _listen(watcher: Watcher, interrupt: Callable[[], None]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def on_interrupt() -> None:
        watcher.interrupt()
        interrupt()

    loop.add_signal_handler(signal.SIGINT, on_interrupt)
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)


async def _begin(
    chat: Chat,
    client: AsyncClient,
    display: Display,
    options: Namespace,
    choice: Choice,
    *,
    is_quiet: bool,
) -> int:
    models = await client.models()
    if client.address and (options.agent or options.mcp):
        raise UsageError(
            f"the server at {client.address} uses this data folder and its own agent:"
            " leave --agent and --mcp out, or choose another folder with --data"
        )
    if not client.address:
        for source in choice.sources():
            await source.list_tools()
            if source.error is not None:
                display.complain(source.error)
    if client.address and options.model:
        await chat.choose(options.model)
    chat.effort = options.effort
    if not is_quiet:
        told = model_line(chat.current(models), is_current=False).strip()
        where = (
            f"\nConnected to the server at {client.address}, which stores the conversations."
            if client.address
            else ""
        )
        display.note(f"Headrace · {told}{where}\n/help lists the commands · {display.hint}")
    if options.resume or options.conversation:
        await chat.open(options.conversation or "")
    for path in options.file:
        await chat.attach(path)
    return await chat.talk()
