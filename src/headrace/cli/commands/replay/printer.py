"""Prints a replay like `headrace ask` prints an answer, with the tools of a run."""

from __future__ import annotations

from typing import Any

from headrace import events as ev
from headrace.cli.terminal.answer import AnswerPrinter
from headrace.cli.terminal.event_text import describe_event
from headrace.cli.terminal.output import Style
from headrace.events import Record
from headrace.usage import Usage

_FINE = ("end_turn", "tool_use")


class ReplayPrinter(AnswerPrinter):
    """Prints records. Records of nested runs are left out, since they belong to a tool."""

    def __init__(self, color: str, *, shows_reasoning: bool) -> None:
        super().__init__(color, shows_reasoning=shows_reasoning)
        self._names: dict[str, str] = {}
        self._is_run = False
        self._usage = Usage()
        self._problem = ""

    def play(self, record: Record) -> None:
        """Print one record."""
        if record.path:
            return
        event = record.event
        match event:
            case ev.ToolCallFinished() | ev.ToolCallMalformed():
                self._names[event.call_id] = event.name
                self._line(f"the model calls {describe_event(event)[1]}", Style.BOLD)
            case ev.ToolResult() | ev.ToolOutput():
                self._result(event)
            case ev.StepDiscarded(reason=reason):
                self._line(f"discarded, trying again: {reason}", Style.YELLOW)
            case ev.RunStarted():
                self._is_run = True
            case ev.TurnFinished() | ev.TurnFailed() | ev.RunFinished() | ev.RunFailed():
                self._note_end(event)
            case ev.StepStarted() | ev.TextStarted():
                # Separate texts do not share a line.
                self._end_text()
            case _ if isinstance(event, _SHOWN):
                self.feed(event)
            case _:
                pass

    def finish(self) -> None:
        """Print what the run took, and how it ended."""
        self.close(self._usage)
        if self._problem:
            self.complain(self._problem)

    def _result(self, event: ev.ToolResult | ev.ToolOutput) -> None:
        name = self._names.get(event.call_id, "tool")
        words = describe_event(ev.ToolOutput(**_OUTPUT, call_id="", content=event.content))[1]
        if event.is_error:
            self._line(f"{name} failed: {words}", Style.RED)
        else:
            self._line(f"{name} gave {words}", Style.BOLD)

    def _line(self, words: str, style: Style) -> None:
        self._print_line(words, style, is_cut=True)

    def _note_end(
        self, event: ev.TurnFinished | ev.TurnFailed | ev.RunFinished | ev.RunFailed
    ) -> None:
        is_turn = isinstance(event, ev.TurnFinished | ev.TurnFailed)
        if is_turn and self._is_run:
            return
        self._usage = event.usage
        if isinstance(event, ev.TurnFailed | ev.RunFailed):
            self._problem = f"{event.category}: {event.message}"
        elif event.reason.word not in _FINE:
            self._problem = f"the answer ended with {event.reason}"


_SHOWN = (ev.TextDelta, ev.ReasoningDelta, ev.ReasoningFinished, ev.TextFinished)
_OUTPUT: dict[str, Any] = {"part": 0, "output": 0, "item": 0}
