"""How an exception ends a run."""

from __future__ import annotations

from headrace.engine.journal.sink import SinkFailed
from headrace.engine.run_broken import RunBroken, RunEnded
from headrace.errors import HeadraceError, Terminate
from headrace.events import RunFailed, RunFinished
from headrace.outcome import ErrorCategory, abort_reason
from headrace.secrets.scrub import scrub
from headrace.usage import Usage


def describe_error(error: Exception) -> str:
    """Return what is told about an exception that ended a run."""
    if isinstance(error, HeadraceError):
        return str(error)
    return scrub(f"{type(error).__name__}: {error}")


def end_of(error: Exception, usage: Usage) -> RunFinished | RunFailed:
    """Return the terminal event of a run that an exception has ended."""
    if isinstance(error, RunEnded):
        return RunFinished(error.reason, usage)
    if isinstance(error, Terminate):
        return RunFinished(abort_reason("terminated", error.reason), usage)
    category: ErrorCategory = "unknown"
    if isinstance(error, RunBroken):
        category = error.category
    elif isinstance(error, SinkFailed):
        category = "storage"
    return RunFailed(category=category, message=describe_error(error), usage=usage)
