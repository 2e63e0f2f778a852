"""The plain display: for pipes, for terminals without escape codes, and with `--plain`.

Answers go to standard output as they arrive, everything else to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headrace.cli.commands.chat import answer_state as st
from headrace.cli.commands.chat.advice import Advice
from headrace.cli.commands.chat.display.display import AnswerView
from headrace.cli.commands.chat.display.input_lines import InputLines
from headrace.cli.commands.chat.step import Step, Thought, Tool
from headrace.cli.commands.chat.wording import (
    describe_request,
    duration,
    format_brief,
    tool_fields,
)
from headrace.cli.terminal.safe_text import one_line, safe
from headrace.projections.ux import MessageEvent, UXFrame
from headrace.projections.ux.frame import InputRequestedFrame
from headrace.projections.ux.segment import TextSegment

_PROMPT = "> "


class PlainDisplay:
    """A display that never writes an escape sequence."""

    hint = "a \\ at the end of a line: a new line"

    def __init__(self, lines: InputLines, *, shows_reasoning: bool) -> None:
        self.shows_reasoning = shows_reasoning
        self._lines = lines

    async def read(self) -> str:
        """Read a message; lines that end with a backslash are joined."""
        said = ""
        while True:
            if self._lines.is_terminal:
                _tell(_PROMPT if not said else "  ", end="")
            line = await self._lines.read()
            if not line.endswith("\\"):
                return said + line
            said += line[:-1] + "\n"

    async def ask(self, question: str, default: str = "") -> str:
        """Ask on standard error. The default is not shown: `request()` has shown it."""
        self._lines.set_aside()
        _tell(safe(question).rstrip(" ›") + ": ", end="" if self._lines.is_terminal else "\n")
        return await self._lines.read_answer()

    def request(self, request: InputRequestedFrame) -> None:
        title, fields = describe_request(request)
        _tell(title)
        for label, text in fields:
            _tell("\n".join([f"  {label}", *(f"    {line}" for line in text.split("\n"))]))

    def withdraw(self) -> None:
        """Do nothing: the lines of a pipe are all asked."""

    def answer(self) -> AnswerView:
        return _PlainAnswer(shows_reasoning=self.shows_reasoning)

    def note(self, text: str) -> None:
        _tell(safe(text))

    def foot(self, text: str) -> None:
        if sys.stderr.isatty():
            _tell(text)

    def complain(self, text: str) -> None:
        _tell(f"headrace: {safe(text)}")

    def advise(self, advice: Advice) -> None:
        _tell(" ".join(filter(None, (advice.what, advice.todo))))
        if advice.is_error and advice.detail:
            _tell(f"  {advice.detail}")

    def show(self, lines: Sequence[str]) -> None:
        for line in lines:
            print(safe(line))
        sys.stdout.flush()

    def table(self, rows: Sequence[tuple[str, str]]) -> None:
        width = max(len(left) for left, _ in rows) + 2
        self.show([f"{left:<{width}}{right}" for left, right in rows])

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Tool):
                self.show(_tool_lines(step))
            else:
                self.show([*(step.text if isinstance(step, Thought) else step.words).split("\n")])

    def past(self, question: str, event: MessageEvent | None) -> None:
        self.show([f"{_PROMPT}{line}" for line in question.split("\n")])
        for segment in event.segments if event is not None else ():
            if isinstance(segment, TextSegment):
                self.show(segment.text.strip("\n").split("\n"))

    def remember(self, questions: Sequence[str]) -> None:
        """Do nothing: there is no input history."""

    def forget(self, questions: Sequence[str]) -> None:
        """Do nothing: there is no history."""

    def copy(self, text: str) -> bool:
        """Return False: escape sequences are not written."""
        return False


class _PlainAnswer:
    def __init__(self, *, shows_reasoning: bool) -> None:
        self._draft = st.AnswerState()
        self._shows_reasoning = shows_reasoning
        self._is_inside_line = False
        self._is_inside_thought = False
        self._phrase = ""

    def feed(self, frames: Sequence[UXFrame]) -> None:
        for frame in frames:
            for cue in self._draft.feed(frame):
                self._take(cue)
        sys.stdout.flush()

    def _take(self, cue: st.DisplayEvent) -> None:
        match cue:
            case st.Says(text):
                self._end_thought()
                self._is_inside_line = not text.endswith("\n") if text else self._is_inside_line
                sys.stdout.write(text)
            case st.Thinks(text) if self._shows_reasoning:
                self._is_inside_thought = not text.endswith("\n")
                _tell(text, end="")
            case st.Used(tool):
                self._end_thought()
                _tell(tool_line(tool))
            case st.Paused() | st.Folded():
                self._end_thought()
                self._end_line()
            case st.Made(words):
                self._end_line()
                print(words)
            case st.TakenBack():
                _tell("This attempt failed and is discarded; trying again.")
            case _:
                pass

    def tick(self) -> None:
        """Do nothing: there is nothing to redraw."""

    def say(self, phrase: str) -> None:
        if phrase and phrase != self._phrase:
            _tell(phrase)
        self._phrase = phrase

    def pause(self) -> None:
        self._end_thought()
        self._end_line()

    def resume(self) -> None:
        """Do nothing: there is nothing to redraw."""

    def close(self) -> None:
        self._end_thought()
        self._end_line()

    def _end_line(self) -> None:
        if self._is_inside_line:
            self._is_inside_line = False
            print(flush=True)

    def _end_thought(self) -> None:
        if self._is_inside_thought:
            self._is_inside_thought = False
            _tell("")


def tool_line(tool: Tool) -> str:
    """Format a tool call: `calculator 12 * 34 → 408 · 3 ms`."""
    asked = format_brief(tool.args if tool.args is not None else tool.args_text)
    came = one_line(tool.error) if tool.error is not None else format_brief(tool.result)
    line = " ".join(filter(None, (tool.name, asked, came and f"→ {came}")))
    return line if tool.duration_ms is None else f"{line} · {duration(tool.duration_ms)}"


def _tool_lines(tool: Tool) -> list[str]:
    lines = [tool_line(tool)]
    for label, text in tool_fields(tool):
        lines += [f"  {label}", *(f"    {line}" for line in text.split("\n"))]
    return lines


def _tell(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)
