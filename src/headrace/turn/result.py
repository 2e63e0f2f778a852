"""The result of a finished turn or run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import msgspec

from headrace.errors import OutputInvalid, UsageError
from headrace.messages import Message
from headrace.outcome import ErrorInfo, FinishReason
from headrace.turn.fallback import Switch
from headrace.typed.output_type import Mismatch
from headrace.typed.plan import OutputPlan
from headrace.usage import Usage

if TYPE_CHECKING:
    # Type checkers know this module without its being installed.
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=Any)
else:
    from typing import TypeVar

    OutputT = TypeVar("OutputT")


class Result(msgspec.Struct, Generic[OutputT], frozen=True, kw_only=True):
    """What `complete()` and an agent's `complete()` return. Either `finish` or `error` is set."""

    message: Message
    """The whole answer: reasoning, text, calls and their results, citations."""
    finish: FinishReason | None = None
    """Why the model stopped, or None if the turn or run failed."""
    error: ErrorInfo | None = None
    """What failed, or None. `message` holds what arrived before the error."""
    usage: Usage = Usage()
    """Tokens and cost of all turns."""
    plan: OutputPlan | None = None
    """How the typed answer was asked for, or None."""
    switches: tuple[Switch, ...] = ()
    """The models of a `Fallback` that failed, in order."""

    @property
    def output(self) -> OutputT:
        """The answer as a value of `output_type`. Raises `OutputInvalid` if the answer is not of
        that type, or did not come at all."""
        if self.plan is None:
            raise UsageError("there is no output without an output_type: read `text`")
        problem = self._find_problem()
        if self.message.output is not msgspec.UNSET:
            try:
                output: OutputT = self.plan.type.convert(self.message.output)
            except Mismatch as mismatch:
                problem = str(mismatch)
            else:
                return output
        raise OutputInvalid(problem, text=self._answer, result=self)

    def _find_problem(self) -> str:
        """Return why there is no typed answer."""
        if self.error is not None:
            return self.error.message
        called = [call.name for turn in self.message.turns[-1:] for call in turn.calls]
        if called:
            return f"the model called {', '.join(called)}, and has not answered yet"
        return "there is none"

    @property
    def _answer(self) -> str:
        """The text that was to be the typed answer."""
        turns = self.message.turns
        call = self.plan.find_call(turns[-1]) if self.plan is not None and turns else None
        return self.text if call is None else call.raw

    @property
    def is_complete(self) -> bool:
        """False if frames of the stream could not be read, so that content may be missing."""
        return self.message.is_complete

    @property
    def warning(self) -> str | None:
        """What is known about missing content, as a sentence, or None."""
        return self.message.warning

    @property
    def text(self) -> str:
        """The answer: the text of the last turn."""
        return self.message.turns[-1].text if self.message.turns else ""


def check_output(result: Result[OutputT]) -> Result[OutputT]:
    """Return the result. Raises `OutputInvalid` if its answer is of the wrong type."""
    if result.error is not None and result.error.category == "invalid_output":
        _ = result.output  # raises
    return result


def result_of(
    message: Message, plan: OutputPlan | None = None, switches: tuple[Switch, ...] = ()
) -> Result[Any]:
    """Return the result whose answer is this complete message."""
    return Result(
        message=message,
        finish=message.finish,
        error=message.error,
        usage=message.usage,
        plan=plan,
        switches=switches,
    )
