"""How a message ended, told from its records: the one reading that all projections share."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from headrace.events import (
    RunClosed,
    RunFailed,
    RunFinished,
    StepDiscarded,
    StepFinished,
    StepStarted,
    ToolResult,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from headrace.outcome import ErrorCategory

Terminal: TypeAlias = TurnFinished | TurnFailed | RunFinished | RunFailed
GOES_ON = (TurnStarted, StepStarted, StepDiscarded, StepFinished, ToolStarted, ToolResult)
"""What shows, after the end of a turn, that it was not the end of the message."""


class Ending(msgspec.Struct, frozen=True, gc=False):
    """`finished` also where a limit or a hook ended it, `cancelled` by a person alone. The
    other fields are about a failure."""

    kind: Literal["finished", "failed", "cancelled"]
    message: str = ""
    category: ErrorCategory = "unknown"
    retryable: bool = False


_CUT = "the records ended before the {} did"


def ending(terminal: Terminal | None, closed: RunClosed | None = None, of: str = "turn") -> Ending:
    """The end, from the last terminal event and, where there is a server, what it said when
    it closed the log. Without either the records broke off."""
    if closed is not None and closed.outcome == "save_failed":
        return Ending("failed", "the message could not be saved", "storage")
    is_failed = isinstance(terminal, TurnFailed | RunFailed)
    if closed is not None and closed.outcome == "interrupted" and not is_failed:
        return Ending("failed", "the run was interrupted", "interrupted")
    match terminal:
        case None:
            return Ending("failed", _CUT.format(of), "incomplete", retryable=True)
        case TurnFailed():
            return Ending("failed", terminal.message, terminal.category, terminal.retryable)
        case RunFailed():
            return Ending("failed", terminal.message, terminal.category)
        case _:
            return _aborted(terminal)


def _aborted(terminal: TurnFinished | RunFinished) -> Ending:
    reason = terminal.reason
    kind = reason.kind if reason.word == "aborted" else None
    if kind == "timeout":
        return Ending("failed", reason.detail or "the run took too long", "timeout")
    return Ending("cancelled") if kind == "cancelled" else Ending("finished")
