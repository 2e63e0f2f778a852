"""`OutputCheck`: checks the typed answer of a run, and counts how often the model is corrected."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from headrace.content import TextContent
from headrace.engine.run_broken import RunBroken
from headrace.events import ToolResult
from headrace.messages import CallPart, Turn
from headrace.turn.typed_answer import describe_mismatch, is_cut_short
from headrace.typed.output_type import Mismatch
from headrace.typed.plan import OutputPlan

_ACCEPTED = "The answer was accepted."


class OutputCheck:
    """The typed answer of one run. `value` is its JSON once a turn has given a good one."""

    def __init__(self, plan: OutputPlan) -> None:
        self.plan = plan
        """How the model that is asked now is asked for the answer."""
        self._retries = plan.retries
        self.value: Any = msgspec.UNSET
        self.correction: str | None = None
        """What the model is told about a wrong answer."""

    @property
    def is_known(self) -> bool:
        """Whether there is a good answer."""
        return self.value is not msgspec.UNSET

    def restore(self, turns: Iterable[Turn]) -> None:
        """Count the corrections of an earlier process, whose turns these are."""
        for turn in turns:
            is_answer = self.find_call(turn) is not None
            if is_answer or (turn.finish is not None and not turn.calls):
                with suppress(RunBroken):
                    self.check(turn)
        self.forget()

    def forget(self) -> None:
        """Forget the answer: the run goes on after it."""
        self.value = msgspec.UNSET

    def find_call(self, turn: Turn) -> CallPart | None:
        """Return the call that gives the answer of the turn, or None."""
        return self.plan.find_call(turn)

    def check(self, turn: Turn) -> bool:
        """Check the answer of a turn. Returns False for a wrong one that the model is to correct,
        and raises `RunBroken` if it may not try again."""
        self.value, self.correction = msgspec.UNSET, None
        try:
            self.value = self.plan.read(turn)
        except Mismatch as mismatch:
            problem = describe_mismatch(turn, str(mismatch))
        else:
            return True
        if self._retries == 0 or is_cut_short(turn):
            raise RunBroken("invalid_output", problem)
        self._retries -= 1
        self.correction = self.plan.correct(problem)
        return False

    def reply(self, call: CallPart) -> ToolResult:
        """Return the result of a call that gave an answer."""
        text = self.correction or _ACCEPTED
        return ToolResult(
            call_id=call.call_id,
            content=(TextContent(text),),
            is_error=self.correction is not None,
        )
