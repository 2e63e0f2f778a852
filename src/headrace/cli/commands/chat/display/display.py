"""The interface of displays: what a chat is read from and shown on.

A terminal gets a live display, everything else a plain one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.cli.commands.chat.advice import Advice
from headrace.cli.commands.chat.step import Step
from headrace.projections.ux import MessageEvent, UXFrame
from headrace.projections.ux.frame import InputRequestedFrame

REFRESH_S = 1 / 12
"""Seconds between two redraws."""


class AnswerView(Protocol):
    """One answer while it arrives."""

    def feed(self, frames: Sequence[UXFrame]) -> None:
        """Add frames."""
        ...

    def tick(self) -> None:
        """Redraw after some time has passed."""
        ...

    def say(self, phrase: str) -> None:
        """Show this text instead of the model's status."""
        ...

    def pause(self) -> None:
        """Draw nothing until `resume()`, so that the user can be asked."""
        ...

    def resume(self) -> None:
        """Draw again."""
        ...

    def close(self) -> None:
        """End the answer; what is shown stays."""
        ...


class Display(Protocol):
    """Reads what the user types, and shows everything else.

    All text is made safe for the terminal, by the caller or by the display.
    """

    shows_reasoning: bool
    hint: str
    """How to enter several lines."""

    async def read(self) -> str:
        """Return the next message or command.

        Raises `EOFError` at the end of the input, and `KeyboardInterrupt` for Ctrl-C at an empty
        prompt.
        """
        ...

    async def ask(self, question: str, default: str = "") -> str:
        """Ask for one line in the middle of an answer. What was typed before is no answer to it.

        `default` can be edited in a live terminal. Raises `EOFError` at the end of the input, and
        `KeyboardInterrupt` for Ctrl-C.
        """
        ...

    def request(self, request: InputRequestedFrame) -> None:
        """Show what a run waits for."""
        ...

    def withdraw(self) -> None:
        """Put messages that were typed during the answer back into the prompt."""
        ...

    def answer(self) -> AnswerView:
        """Create the view of the next answer."""
        ...

    def note(self, text: str) -> None:
        """Show a remark."""
        ...

    def foot(self, text: str) -> None:
        """Show what an answer took."""
        ...

    def complain(self, text: str) -> None:
        """Show an error."""
        ...

    def advise(self, advice: Advice) -> None:
        """Explain how an answer ended."""
        ...

    def show(self, lines: Sequence[str]) -> None:
        """Show the output of a command."""
        ...

    def table(self, rows: Sequence[tuple[str, str]]) -> None:
        """Show output in two columns."""
        ...

    def steps(self, steps: Sequence[Step]) -> None:
        """Show the steps of an answer in full."""
        ...

    def past(self, question: str, event: MessageEvent | None) -> None:
        """Show a stored question and its answer."""
        ...

    def remember(self, questions: Sequence[str]) -> None:
        """Add earlier questions to the input history."""
        ...

    def forget(self, questions: Sequence[str]) -> None:
        """Remove questions from the input history that is kept."""
        ...

    def copy(self, text: str) -> bool:
        """Put a text on the clipboard. Returns False if the display has none."""
        ...
