"""Log lines about the phases of a run: when thinking, text and tools began, and how long they took.

The lines have no content: only ids, times, and the words with which a run ends.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal, TypeAlias

from headrace import events as ev
from headrace.events import Record
from headrace.log import get_logger
from headrace.projections.ending import ending

_logger = get_logger("server")

MAX_LINES = 200
"""Most lines of one run; a run with more phases is logged up to here, and its end."""

_Phase: TypeAlias = Literal["thinking", "text", "tools"]
_STARTS: dict[type, _Phase] = {
    ev.ReasoningStarted: "thinking",
    ev.ReasoningRedacted: "thinking",
    ev.TextStarted: "text",
    ev.ToolStarted: "tools",
}
_ENDS = frozenset(
    {ev.ToolCallStarted, ev.TurnFinished, ev.TurnFailed, ev.StepFinished, ev.StepDiscarded}
)


def create_phase_log(request_id: str | None, run_id: str) -> PhaseLog | None:
    """Create the log of a run's phases, or return None if nobody reads such lines."""
    if request_id is None or not _logger.isEnabledFor(logging.INFO):
        return None
    return PhaseLog(request_id, run_id)


class PhaseLog:
    """Logs the phases of one run at the level INFO, each line with the id of its request."""

    def __init__(self, request_id: str, run_id: str) -> None:
        self._request_id = request_id
        self._run_id = run_id
        self._phase: _Phase | None = None
        self._started_ms = 0
        self._total_ms: dict[_Phase, int] = {"thinking": 0, "text": 0, "tools": 0}
        self._lines = 0
        self._terminal: ev.RunFinished | ev.RunFailed | None = None

    def feed(self, records: Sequence[Record]) -> None:
        """Log what these records begin and end."""
        for record in records:
            kind = type(record.event)
            if record.path:
                continue
            if kind in _STARTS:
                self._start(_STARTS[kind], record.at_ms)
            elif kind in _ENDS:
                self._end(record.at_ms)
            elif isinstance(record.event, ev.RunFinished | ev.RunFailed):
                self._end(record.at_ms)
                self._terminal = record.event
            elif isinstance(record.event, ev.RunClosed):
                self._close(record.event)

    def _start(self, phase: _Phase, at_ms: int) -> None:
        if self._phase == phase:
            return
        self._end(at_ms)
        self._phase, self._started_ms = phase, at_ms
        self._log("%s started", phase)

    def _end(self, at_ms: int) -> None:
        if self._phase is None:
            return
        phase, self._phase = self._phase, None
        took_ms = at_ms - self._started_ms
        self._total_ms[phase] += took_ms
        self._log("%s ended after %d ms", phase, took_ms)

    def _log(self, text: str, *values: object) -> None:
        self._lines += 1
        if self._lines <= MAX_LINES:
            _logger.info(f"request %s: {text}", self._request_id, *values)

    def _close(self, closed: ev.RunClosed) -> None:
        end = ending(self._terminal, closed, of="run")
        word = end.kind if end.kind != "failed" else f"failed ({end.category})"
        _logger.info(
            "request %s: run %s %s; thinking %d ms, text %d ms, tools %d ms",
            self._request_id,
            self._run_id,
            word,
            *self._total_ms.values(),
        )
