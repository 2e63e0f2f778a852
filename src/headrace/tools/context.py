"""`ToolContext`: how a running tool reports progress and notices cancellation."""

from __future__ import annotations

import math
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from headrace.errors import HeadraceError
from headrace.events import JSONObject, ToolProgress

MAX_REPORTS = 10_000
"""Most reports of one call, so that a tool that reports in a tight loop cannot fill the log."""
MAX_REPORT_CHARS = 4_000
"""Most characters of one status or log line."""


class InputDenied(HeadraceError):
    """The user refused to answer, or did not answer in time."""


class ToolContext:
    """The call that a tool runs for. A parameter annotated with this type gets it, and is hidden
    from the model. All methods may be called from any thread."""

    def __init__(  # noqa: PLR0913 (what the engine knows about a call)
        self,
        *,
        run_id: str = "",
        step: int = 0,
        call_id: str = "",
        name: str = "",
        report: Callable[[ToolProgress], None] | None = None,
        closing_s: float = 1.0,
        idempotency_key: str = "",
        ask: Callable[..., Awaitable[Any]] | None = None,
        state: Any = None,
    ) -> None:
        self.run_id = run_id
        self.step = step
        self.call_id = call_id
        self.name = name
        self.closing_s = closing_s
        """Seconds to wait for a call that was cancelled or timed out. Set by the engine."""
        self.idempotency_key = idempotency_key
        """A text that is the same each time this call is run, and different for any other call.
        Pass it on to services that accept one, so that nothing happens twice."""
        self.state: Any = state
        """The state of the question that the call waited for when its process stopped, or None;
        see `ask()`."""
        self._ask = ask
        self._report = report
        self._reports = 0
        self._lock = threading.Lock()
        self._cancelled = threading.Event()

    def progress(
        self, status: str | None = None, *, progress: float | None = None, log: str | None = None
    ) -> None:
        """Report a short status, a share from 0 to 1, or a log line. Ignored after the call is
        cancelled, and after `MAX_REPORTS` reports."""
        share = None if progress is None else _clamp(progress)
        if self._report is None or self.is_cancelled:
            return
        with self._lock:
            self._reports += 1
            count = self._reports
        if count > MAX_REPORTS:
            return
        if count == MAX_REPORTS:
            log = f"[no more reports are shown: MAX_REPORTS={MAX_REPORTS}]"
        self._report(
            ToolProgress(call_id=self.call_id, status=_cut(status), progress=share, log=_cut(log))
        )

    def log(self, line: str) -> None:
        """Report a log line."""
        self.progress(log=line)

    async def ask(
        self,
        message: str,
        schema: JSONObject | None = None,
        *,
        key: str | None = None,
        state: Any = None,
    ) -> Any:
        """Ask the user while the tool runs, and wait for the answer: a text, or a value of the
        JSON schema. Raises `InputDenied` if the user refuses or the request expires.

        With a `state`, a JSON value, the run may be suspended meanwhile although the tool is not
        idempotent: the tool is then called again with this `context.state`, and asks the same
        question with the same `key` to get the answer.
        """
        if self._ask is None:
            raise InputDenied("there is nobody to ask: the tool runs outside of an agent")
        if key is None and state is None:
            return await self._ask(message, schema)
        return await self._ask(message, schema, key=key, state=state)

    @property
    def is_cancelled(self) -> bool:
        """Whether the result is no longer needed. Async tools are cancelled; a tool in a thread
        should check this now and then."""
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep in a thread until the time is up or the call is cancelled. Returns whether it
        was cancelled."""
        return self._cancelled.wait(seconds)

    def cancel(self) -> None:
        """Mark the call as cancelled. Called by the engine."""
        self._cancelled.set()


def _clamp(progress: float) -> float:
    share = float(progress)
    if math.isnan(share):
        raise ValueError("progress: expected a share from 0 to 1; got nan")
    return min(max(share, 0.0), 1.0)


def _cut(text: str | None) -> str | None:
    if text is None:
        return None
    text = str(text).encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_REPORT_CHARS else f"{text[:MAX_REPORT_CHARS]}…"
