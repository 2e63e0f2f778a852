"""`AnyJournal`: what writes the events of a run, whether it is nested or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from headrace.engine.journal.sink import SinkFailed
from headrace.engine.resume.progress import NestedRuns
from headrace.events import Event, RunFailed, RunFinished
from headrace.messages import Assembler
from headrace.wire.decoder import ReadResult


class AnyJournal(Protocol):
    """Writes the events of a run: `Journal`, or `NestedJournal` for the run of a sub-agent."""

    assembler: Assembler
    is_immediate: bool
    """Whether no step has to be awaited: `put` may be used."""

    @property
    def last_event(self) -> Event | None:
        """The event that was written last."""
        ...

    @property
    def nested(self) -> NestedRuns:
        """The sub-agents that are running."""
        ...

    def put(self, events: Sequence[Event]) -> bool:
        """Write events without waiting. Returns whether to await `wait_for_room()`."""
        ...

    def create_writer(self) -> Callable[[ReadResult], bool]:
        """Return a function that does the same as `put()`, for the events of a turn. It also takes
        a delta without a list."""
        ...

    async def write(
        self,
        events: Sequence[Event],
        *,
        is_rewritten: bool = False,
        path: tuple[str, ...] | None = None,
        step: int | None = None,
    ) -> None:
        """Write events, and wait until the log has them. `path` and `step` are those of
        a sub-agent."""
        ...

    async def announce(self, events: Sequence[Event]) -> None:
        """Write events, and let the work that they announce begin while the log stores them."""
        ...

    async def wait_for_room(self) -> None:
        """Wait until more events may be `put`."""
        ...

    async def flush(self) -> None:
        """Wait until the log has all events that were `put`."""
        ...

    def on_log_error(self, callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Call the callback if the log fails while the block runs."""
        ...

    @property
    def log_failure(self) -> SinkFailed | None:
        """Why the log has failed while records were pending, or None."""
        ...

    async def settle(self, within_s: float) -> None:
        """Wait a limited time for a write that is still going on, then give it up."""
        ...

    async def rewrite_end(self, event: RunFinished | RunFailed) -> RunFinished | RunFailed:
        """Return the terminal event as middleware rewrites it, before it is written."""
        ...
