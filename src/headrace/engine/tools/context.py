"""What a running tool knows of its run, and can tell it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.events import ToolProgress


class ToolContext:
    """Given to a tool that asks for it: a parameter with this type is no argument of the
    model. All of it may be used from a thread."""

    def __init__(
        self,
        *,
        run_id: str = "",
        step: int = 0,
        call_id: str = "",
        name: str = "",
        report: Callable[[ToolProgress], None] | None = None,
    ) -> None:
        self.run_id = run_id
        self.step = step
        self.call_id = call_id
        self.name = name
        self._report = report
        self._cancelled = threading.Event()

    def progress(
        self,
        status: str | None = None,
        *,
        progress: float | None = None,
        log: str | None = None,
    ) -> None:
        """Tell how far it is: a few words, a share from 0 to 1, a line of a log."""
        if self._report is not None and not self.is_cancelled:
            self._report(
                ToolProgress(call_id=self.call_id, status=status, progress=progress, log=log)
            )

    def log(self, line: str) -> None:
        """One line of a log."""
        self.progress(log=line)

    @property
    def is_cancelled(self) -> bool:
        """Whether the result is no longer wanted. Async tools are cancelled; a tool in a
        thread should look here now and then."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """The engine's: the result is no longer wanted."""
        self._cancelled.set()
