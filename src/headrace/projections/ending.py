"""How a message ended, derived from its records. All projections use this."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from headrace import events as ev
from headrace.outcome import ErrorCategory

Terminal: TypeAlias = ev.TurnFinished | ev.TurnFailed | ev.RunFinished | ev.RunFailed
GOES_ON = (
    ev.TurnStarted,
    ev.StepStarted,
    ev.StepDiscarded,
    ev.StepFinished,
    ev.InputRequested,
    ev.UserMessageAdded,
    ev.RunSuspended,
    ev.RunResumed,
    ev.ToolStarted,
    ev.ToolResult,
)
"""Events after the end of a turn that show the message is not over."""


class Ending(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a message.

    It is `finished` also if a limit or a hook ended it, and `cancelled` only if a person did. The
    other fields describe an error.
    """

    kind: Literal["finished", "failed", "cancelled"]
    message: str = ""
    category: ErrorCategory = "unknown"
    retryable: bool = False


_CUT = "the records ended before the {} did"


def ending(
    terminal: Terminal | None, closed: ev.RunClosed | None = None, of: str = "turn"
) -> Ending:
    """Return the outcome, from the last terminal event and the server's `RunClosed` if there is
    one.

    Without either, the records broke off.
    """
    if closed is not None and closed.outcome == "save_failed":
        return Ending("failed", "the message could not be saved", "storage")
    is_failed = isinstance(terminal, ev.TurnFailed | ev.RunFailed)
    if closed is not None and closed.outcome == "interrupted" and not is_failed:
        return Ending("failed", "the run was interrupted", "interrupted")
    match terminal:
        case None:
            return Ending("failed", _CUT.format(of), "incomplete", retryable=True)
        case ev.TurnFailed():
            return Ending("failed", terminal.message, terminal.category, terminal.retryable)
        case ev.RunFailed():
            return Ending("failed", terminal.message, terminal.category)
        case _:
            return _abort_ending(terminal)


def _abort_ending(terminal: ev.TurnFinished | ev.RunFinished) -> Ending:
    reason = terminal.reason
    kind = reason.kind if reason.word == "aborted" else None
    if kind == "timeout":
        return Ending("failed", reason.detail or "the run took too long", "timeout")
    return Ending("cancelled") if kind == "cancelled" else Ending("finished")
