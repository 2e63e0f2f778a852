"""`NestedJournal`: passes the events of a sub-agent through its middleware to the run around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from headrace.engine.journal.rewriter import Rewriter
from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.middleware import RunView
from headrace.engine.nested.nesting import Nesting
from headrace.engine.resume.progress import NestedRuns
from headrace.errors import HeadraceError
from headrace.events import Event, RunFailed, RunFinished
from headrace.wire.decoder import ReadResult


class NestedJournal:
    """Writes the events of a nested run. What is written and what the nested run knows of itself
    is what the middleware of all runs around it makes of them."""

    is_immediate = False

    def __init__(self, view: RunView, chain: Chain, nesting: Nesting) -> None:
        self._view = view
        self._chain = chain
        self._nesting = nesting
        self._rewriter = Rewriter(chain, view) if chain.rewriters else None
        self.assembler = nesting.progress.assembler
        if chain.observers:
            nesting.progress.recent = []

    @property
    def last_event(self) -> Event | None:
        """The event that was written last."""
        return self._nesting.progress.last_event

    @property
    def nested(self) -> NestedRuns:
        """The sub-agents that are running."""
        return self._nesting.progress.nested

    async def write(
        self,
        events: Sequence[Event],
        *,
        is_rewritten: bool = False,
        path: tuple[str, ...] | None = None,
        step: int | None = None,
    ) -> None:
        """Write events and wait until the log has them."""
        path = self._view.path if path is None else path
        step = self._view.step if step is None else step
        error: HeadraceError | None = None
        if self._rewriter is not None and not is_rewritten:
            events, error = await self._rewriter.rewrite(events, path)
        if events:
            await self._nesting.write(events, path, step)
            await self._observe()
        if error is not None:
            raise error

    async def _observe(self) -> None:
        recent = self._nesting.progress.recent
        if recent:
            records = recent.copy()
            recent.clear()
            await self._chain.observe(self._view, records)

    def put(self, events: Sequence[Event]) -> bool:
        """Not used: a nested run waits for its events to be written."""
        raise NotImplementedError

    def create_writer(self) -> Callable[[ReadResult], bool]:
        """Not used: a nested run waits for its events to be written."""
        raise NotImplementedError

    async def announce(self, events: Sequence[Event]) -> None:
        """Write events and wait until the log has them."""
        await self.write(events)

    async def wait_for_room(self) -> None:
        """Return at once: `write()` waits."""

    async def flush(self) -> None:
        """Return at once: `write()` waits."""

    def on_log_error(self, callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Do nothing: the run around this one handles errors of the log."""
        return nullcontext()

    @property
    def log_failure(self) -> None:
        """None: the run around this one handles errors of the log."""
        return None

    async def settle(self, within_s: float) -> None:
        """Return at once: the run around this one closes it."""

    async def rewrite_end(self, event: RunFinished | RunFailed) -> RunFinished | RunFailed:
        """Return the terminal event as middleware rewrites it, before it is written."""
        if self._rewriter is None:
            return event
        events, error = await self._rewriter.rewrite([event], self._view.path)
        if error is not None:
            raise error
        last = events[-1]
        assert isinstance(last, RunFinished | RunFailed)
        return last
