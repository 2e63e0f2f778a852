"""Exceptions that end or suspend a run from within."""

from __future__ import annotations

from headrace.errors import HeadraceError
from headrace.outcome import ErrorCategory, FinishReason


class RunBroken(HeadraceError):
    """The run cannot continue; it ends with `RunFailed`."""

    def __init__(self, category: ErrorCategory, message: str) -> None:
        super().__init__(message)
        self.category: ErrorCategory = category


class RunEnded(HeadraceError):
    """The run ends with `RunFinished` and this reason."""

    def __init__(self, reason: FinishReason) -> None:
        super().__init__(str(reason))
        self.reason = reason


class RunWaits(HeadraceError):
    """The run only waits for input, and is to be suspended."""

    def __init__(self, waiting: tuple[str, ...]) -> None:
        super().__init__("the run waits for input")
        self.waiting = waiting
