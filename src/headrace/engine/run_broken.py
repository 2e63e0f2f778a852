"""The exception that ends a run as failed."""

from __future__ import annotations

from headrace.errors import HeadraceError
from headrace.outcome import ErrorCategory


class RunBroken(HeadraceError):
    """The run cannot continue; it ends with `RunFailed`."""

    def __init__(self, category: ErrorCategory, message: str) -> None:
        super().__init__(message)
        self.category: ErrorCategory = category
