"""`JSONLinesTrace`: writes every record of a run as a line of JSON, and a summary at the end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import msgspec

from headrace import events as ev
from headrace.engine.middleware.middleware import Middleware, RunView
from headrace.events import Record
from headrace.usage import Usage

# A batch is written when it is this large or this old, and at the end of a turn, step or run.
_MAX_BATCH_BYTES = 64 * 1024
_MAX_BATCH_MS = 1_000
_ENDS = frozenset({
    ev.TurnFinished, ev.TurnFailed, ev.StepFinished, ev.RunFinished, ev.RunFailed, ev.RunSuspended,
})  # fmt: skip


class RunSummary(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The last line of a run: its duration, counts, end and usage."""

    duration_ms: int = 0
    """Time from the first record to the last."""
    records: int = 0
    """Number of records."""
    steps: int = 0
    """Number of steps."""
    tool_calls: int = 0
    """Number of tool calls that ran."""
    first_reasoning_ms: int | None = None
    """From the start of the run to the first reasoning."""
    first_text_ms: int | None = None
    """From the start of the run to the first text."""
    finish: str | None = None
    """Why the run ended, if it did not fail."""
    error: str | None = None
    """Category and message, if the run failed."""
    usage: Usage = Usage()
    """Token counts of all turns together."""


class JSONLinesTrace(Middleware):
    """Writes each record as `{"run_id": …, "seq": …, "at_ms": …, "event": …}`, and after the
    last one `{"run_id": …, "summary": …}`, which is a `RunSummary`.

    `target` is a path to append to (a new file is readable by its owner only), or an open binary
    or text file, which stays open. Lines are written in batches: at the end of a turn or step,
    after a second, or after 64 KB. Several runs may share a trace. With a `Redaction` it contains
    no secrets. An error of the disk fails the run.
    """

    def __init__(self, target: str | Path | IO[bytes] | IO[str]) -> None:
        self._target = target
        self._key = f"trace {id(self)}"

    def on_event(self, run: RunView, record: Record) -> None:
        """Add a line, and write the batch if it is due."""
        trace: _Trace | None = run.state.get(self._key)
        if trace is None:
            trace = run.state[self._key] = _Trace(run.run_id, record.at_ms)
        if trace.is_broken:
            return
        if run.is_replay:
            # An earlier process has written it.
            trace.count(record)
            return
        trace.add(record)
        if trace.is_due(record):
            try:
                _write(self._target, trace.take(record))
            except BaseException:
                # The error ends the run; the records of that end must not raise it again.
                trace.is_broken = True
                raise


class _Trace:
    """The unwritten lines of one run, and its summary."""

    def __init__(self, run_id: str, at_ms: int) -> None:
        self.is_broken = False
        self._head = b'{"run_id":' + msgspec.json.encode(run_id) + b","
        self._began_ms = self._batch_ms = at_ms
        self._lines: list[bytes] = []
        self._bytes = 0
        self._summary = RunSummary()

    def add(self, record: Record) -> None:
        line = self._head + ev.encode_record(record)[1:]
        self._lines.append(line)
        self._bytes += len(line)
        self.count(record)

    def is_due(self, record: Record) -> bool:
        return (
            type(record.event) in _ENDS
            or self._bytes >= _MAX_BATCH_BYTES
            or record.at_ms - self._batch_ms >= _MAX_BATCH_MS
        )

    def take(self, record: Record) -> bytes:
        if isinstance(record.event, ev.RunFinished | ev.RunFailed) and not record.path:
            summary = msgspec.json.encode({"summary": self._summarize(record)})
            self._lines.append(self._head + summary[1:])
        lines, self._lines, self._bytes = self._lines, [], 0
        self._batch_ms = record.at_ms
        return b"\n".join(lines) + b"\n"

    def count(self, record: Record) -> None:
        """Count a record in the summary."""
        summary, event = self._summary, record.event
        summary.records += 1
        if isinstance(event, ev.TextDelta):
            if summary.first_text_ms is None:
                summary.first_text_ms = record.at_ms - self._began_ms
        elif isinstance(event, ev.ReasoningDelta):
            if summary.first_reasoning_ms is None:
                summary.first_reasoning_ms = record.at_ms - self._began_ms
        elif isinstance(event, ev.StepStarted):
            summary.steps += 1
        elif isinstance(event, ev.ToolStarted):
            summary.tool_calls += 1

    def _summarize(self, record: Record) -> RunSummary:
        summary, end = self._summary, record.event
        summary.duration_ms = record.at_ms - self._began_ms
        if isinstance(end, ev.RunFinished):
            summary.finish, summary.usage = str(end.reason), end.usage
        elif isinstance(end, ev.RunFailed):
            summary.error, summary.usage = f"{end.category}: {end.message}", end.usage
        return summary


def _write(target: str | Path | IO[Any], lines: bytes) -> None:
    if isinstance(target, str | Path):
        # Opened for each batch, so that no file stays open if the run is lost.
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(descriptor, "ab") as file:
            file.write(lines)
        return
    is_text = "b" not in getattr(target, "mode", "") and hasattr(target, "encoding")
    target.write(lines.decode() if is_text else lines)
    target.flush()
