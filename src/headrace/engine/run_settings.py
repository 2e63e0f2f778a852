"""`RunSettings`: what the caller of one run decides, beside its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.engine.cancellation import CancelToken
from headrace.engine.journal.sink import Sink
from headrace.events import Record


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How one run is logged, stopped and continued."""

    clock: Callable[[], float] | None = None
    """Returns milliseconds since the epoch."""
    sink: Sink | None = None
    """Stores every record before anyone sees it."""
    token: CancelToken | None = None
    """Can cancel the run."""
    user: str | None = None
    """The user for whom the run is started."""
    suspends: bool = False
    """Whether the run is suspended when it only waits for input."""
    records: Sequence[Record] = ()
    """The records of an earlier process, from which the run goes on."""
    node: str | None = None
    """The server that runs it."""
    epoch: int = 0
    """How often the run has been taken over. If it goes on from records, that is at least once more
    than they say."""
