"""The live display of a terminal: an input prompt, and answers that are redrawn."""

from __future__ import annotations

import asyncio
import base64
import os
import select
import sys
import termios
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.table import Table
from rich.text import Text

from headrace.cli.commands.chat.advice import Advice
from headrace.cli.commands.chat.display.display import AnswerView
from headrace.cli.commands.chat.display.live_answer import LiveAnswer
from headrace.cli.commands.chat.display.markdown import markdown_rows, plain_rows
from headrace.cli.commands.chat.display.markdown_splitter import Splitter
from headrace.cli.commands.chat.display.prompt import Completes, Prompt
from headrace.cli.commands.chat.display.prompt_history import PromptHistory
from headrace.cli.commands.chat.display.steps_window import tool_row
from headrace.cli.commands.chat.display.typed_ahead import TypedAhead
from headrace.cli.commands.chat.step import Other, Step, Thought, stored_steps
from headrace.cli.commands.chat.wording import describe_request, summary, tool_fields
from headrace.cli.terminal.region import Region, reflows
from headrace.cli.terminal.row import BLANK, Painter, Row
from headrace.cli.terminal.safe_text import safe
from headrace.projections.ux import MessageEvent
from headrace.projections.ux.frame import InputRequestedFrame
from headrace.projections.ux.segment import Segment, TextSegment

_MAX_READ = 65_536


class TerminalDisplay:
    """Draws with escape codes, in color unless `NO_COLOR` is set."""

    hint = "Alt+Enter: a new line"

    def __init__(
        self, completes: Completes, *, shows_reasoning: bool, history: Path | None = None
    ) -> None:
        self.shows_reasoning = shows_reasoning
        self._painter = Painter(has_colour=not os.environ.get("NO_COLOR"))
        self._region = Region(sys.stdout, reflows=reflows(os.environ))
        self._history = PromptHistory(history)
        self._prompt = Prompt(completes, self._history)
        self._typed = TypedAhead()
        self._is_listening = False

    async def read(self) -> str:
        text = self._typed.take_line()
        if text is None:
            text = await self._prompt.read(self._typed.take_draft())
            self._print([BLANK])
        else:
            self._print([*self._question(text), BLANK])
            self._prompt.remember([text])
        return text

    async def ask(self, question: str, default: str = "") -> str:
        self._stop_reading()
        try:
            return await self._prompt.ask(question, default)
        finally:
            self._start_reading()

    def request(self, request: InputRequestedFrame) -> None:
        title, fields = describe_request(request)
        mark = self._painter.line(("● ", "yellow"), (title, "bold"), columns=self._columns)
        self._print([mark, *self._fields(fields)])

    def withdraw(self) -> None:
        self._typed.withdraw()

    @contextmanager
    def listen(self) -> Generator[None, None, None]:
        """Collect what is typed while an answer arrives. Its echo is the drawing of the answer."""
        with _silent_keyboard():
            self._is_listening = True
            self._start_reading()
            try:
                yield
            finally:
                self._stop_reading()
                self._is_listening = False

    def _start_reading(self) -> None:
        if self._is_listening:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read_keys)

    def _stop_reading(self) -> None:
        """Take the keys that have arrived, and leave the following ones to others."""
        if self._is_listening:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            while select.select([sys.stdin], [], [], 0)[0] and self._read_keys():
                pass

    def _read_keys(self) -> bool:
        data = os.read(sys.stdin.fileno(), _MAX_READ)
        self._typed.feed(data)
        if not data:
            # The terminal is gone; a reader would be called again and again.
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        return bool(data)

    def answer(self) -> AnswerView:
        return LiveAnswer(
            self._region,
            self._painter,
            time.monotonic,
            self._typed,
            shows_reasoning=self.shows_reasoning,
        )

    def note(self, text: str) -> None:
        self._print([*self._rows(text, "dim"), BLANK])

    def foot(self, text: str) -> None:
        self.note(text)

    def complain(self, text: str) -> None:
        self._print([*self._rows(text, "red"), BLANK])

    def advise(self, advice: Advice) -> None:
        command = f" ({advice.command})" if advice.command else ""
        said = Text.assemble(
            (advice.what, "bold red" if advice.is_error else "bold"), f" {advice.todo}{command}"
        )
        rows = self._painter.rows(said, self._columns)
        if advice.is_error and advice.detail:
            rows += self._rows(advice.detail, "dim")
        self._print([*rows, BLANK])

    def show(self, lines: Sequence[str]) -> None:
        rows = [row for line in lines for row in self._rows(line) or [BLANK]]
        self._print([*rows, BLANK])

    def table(self, rows: Sequence[tuple[str, str]]) -> None:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan", no_wrap=True)
        for row in rows:
            grid.add_row(*map(safe, row))
        self._print([*self._painter.rows(grid, self._columns), BLANK])

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._print([*self._step(step), BLANK])

    def past(self, question: str, event: MessageEvent | None) -> None:
        self._print([*self._question(question), BLANK, *self._past(event)])

    def _question(self, question: str) -> list[Row]:
        mark = self._painter.line(("›", "bold cyan"), columns=self._columns)
        rows = self._rows(question)
        return [
            Row(f"{mark.text} {row.text}" if not at else f"  {row.text}", row.cells + 2)
            for at, row in enumerate(rows)
        ]

    def remember(self, questions: Sequence[str]) -> None:
        self._prompt.remember(questions)

    def forget(self, questions: Sequence[str]) -> None:
        self._history.forget({safe(question) for question in questions})

    def copy(self, text: str) -> bool:
        # The terminal itself keeps the clipboard, also at the other end of a connection.
        data = base64.b64encode(text.encode()).decode()
        sys.stdout.write(f"\x1b]52;c;{data}\x07")
        sys.stdout.flush()
        return True

    def _past(self, event: MessageEvent | None) -> list[Row]:
        rows: list[Row] = []
        steps: list[Segment] = []
        for segment in event.segments if event is not None else ():
            if not isinstance(segment, TextSegment):
                steps.append(segment)
                continue
            rows += [*self._fold_rows(steps), *self._text(segment.text)]
            steps = []
        return [*rows, *self._fold_rows(steps)]

    def _fold_rows(self, segments: list[Segment]) -> list[Row]:
        steps = stored_steps(tuple(segments))
        if not steps:
            return []
        return [self._painter.line((summary(steps), "dim"), columns=self._columns), BLANK]

    def _text(self, text: str) -> list[Row]:
        splitter = Splitter()
        blocks = [*splitter.feed(safe(text)), *splitter.close()]
        return [
            row for block in blocks for row in markdown_rows(self._painter, block, self._columns)
        ]

    def _step(self, step: Step) -> list[Row]:
        if isinstance(step, Thought):
            return self._text(step.text)
        if isinstance(step, Other):
            return self._rows(step.words, "dim italic")
        return [tool_row(self._painter, step, self._columns), *self._fields(tool_fields(step))]

    def _fields(self, fields: Sequence[tuple[str, str]]) -> list[Row]:
        rows: list[Row] = []
        for label, text in fields:
            rows += self._rows(f"  {label}", "dim")
            drawn = plain_rows(self._painter, text, self._columns - 4)
            rows += [Row(f"    {row.text}", row.cells + 4) for row in drawn]
        return rows

    @property
    def _columns(self) -> int:
        return self._region.size().columns - 1

    def _rows(self, text: str, style: str = "") -> list[Row]:
        return plain_rows(self._painter, safe(text), self._columns, style)

    def _print(self, rows: Sequence[Row]) -> None:
        self._region.draw(rows, ())


@contextmanager
def _silent_keyboard() -> Generator[None, None, None]:
    """Suppress the echo of typed keys, and deliver each of them at once.

    Ctrl-C still interrupts. Ctrl-Z is disabled, because it would leave the terminal in this state.
    """
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    during = termios.tcgetattr(file)
    during[3] &= ~(termios.ECHO | termios.ICANON)
    during[6][termios.VSUSP] = b"\0"
    termios.tcsetattr(file, termios.TCSADRAIN, during)
    try:
        yield
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)
