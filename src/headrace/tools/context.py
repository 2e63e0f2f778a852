"""What a running tool knows of its run, and can tell it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from headrace.events import ToolProgress

MAX_REPORTS = 10_000
"""Of one call; a tool that reports in a tight loop fills no log."""
MAX_REPORT_CHARS = 4_000
"""Of one status or line."""


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
        closing_s: float = 1.0,
    ) -> None:
        self.run_id = run_id
        self.step = step
        self.call_id = call_id
        self.name = name
        self.closing_s = closing_s
        """The engine's: how long a call that is cancelled, or out of time, is waited for."""
        self._report = report
        self._reports = 0
        self._lock = threading.Lock()
        self._cancelled = threading.Event()

    def progress(
        self,
        status: str | None = None,
        *,
        progress: float | None = None,
        log: str | None = None,
    ) -> None:
        """Tell how far it is: a few words, a share from 0 to 1, a line of a log. Nobody
        hears it any more when the call is cancelled, or after `MAX_REPORTS`."""
        share = None if progress is None else _share(progress)
        if self._report is None or self.is_cancelled:
            return
        with self._lock:
            self._reports += 1
            count = self._reports
        if count > MAX_REPORTS:
            return
        if count == MAX_REPORTS:
            log = f"[no more is told: MAX_REPORTS={MAX_REPORTS}]"
        self._report(
            ToolProgress(
                call_id=self.call_id, status=_short(status), progress=share, log=_short(log)
            )
        )

    def log(self, line: str) -> None:
        """One line of a log."""
        self.progress(log=line)

    @property
    def is_cancelled(self) -> bool:
        """Whether the result is no longer wanted. Async tools are cancelled; a tool in a
        thread should look here now and then."""
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """For a tool in a thread: sleep so long, or until the result is no longer wanted;
        whether it is no longer wanted."""
        return self._cancelled.wait(seconds)

    def cancel(self) -> None:
        """The engine's: the result is no longer wanted."""
        self._cancelled.set()


def _share(progress: float) -> float:
    share = float(progress)
    if math.isnan(share):
        raise ValueError("progress: expected a share from 0 to 1; got nan")
    return min(max(share, 0.0), 1.0)


def _short(text: str | None) -> str | None:
    if text is None:
        return None
    text = str(text).encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_REPORT_CHARS else f"{text[:MAX_REPORT_CHARS]}…"
