"""The face: what a chat is read from and shown on. A terminal has one that is alive, everything
else a plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.cli.commands.chat.advice import Advice
from headrace.cli.commands.chat.step import Step
from headrace.projections.ux import MessageEvent, UXFrame

REFRESH_S = 1 / 12
"""How long between two drawings."""


class AnswerView(Protocol):
    """One answer, while it comes."""

    def feed(self, frames: Sequence[UXFrame]) -> None:
        """Take frames."""
        ...

    def tick(self) -> None:
        """Time has passed."""
        ...

    def say(self, phrase: str) -> None:
        """Show this instead of what the model does."""
        ...

    def close(self) -> None:
        """No more comes: what is shown stays."""
        ...


class Face(Protocol):
    """Reads what a person writes, and shows everything else. Nothing that it is given steers
    the terminal: it is safe text, or made safe by the face."""

    shows_reasoning: bool
    hint: str
    """How to write several lines."""

    async def read(self) -> str:
        """The next message or command. Raises `EOFError` at the end of the input, and
        `KeyboardInterrupt` where somebody pressed Ctrl-C and nothing was written."""
        ...

    def answer(self) -> AnswerView:
        """A place for the next answer."""
        ...

    def note(self, text: str) -> None:
        """A remark of ours."""
        ...

    def foot(self, text: str) -> None:
        """What an answer took."""
        ...

    def complain(self, text: str) -> None:
        """Something could not be done."""
        ...

    def advise(self, advice: Advice) -> None:
        """What happened to an answer."""
        ...

    def show(self, lines: Sequence[str]) -> None:
        """What a command was asked for."""
        ...

    def table(self, rows: Sequence[tuple[str, str]]) -> None:
        """The same in two columns."""
        ...

    def steps(self, steps: Sequence[Step]) -> None:
        """What led to an answer, in full."""
        ...

    def past(self, question: str, event: MessageEvent | None) -> None:
        """A question and its answer, from the store."""
        ...

    def remember(self, questions: Sequence[str]) -> None:
        """What was asked before, for those who want to ask it again."""
        ...
