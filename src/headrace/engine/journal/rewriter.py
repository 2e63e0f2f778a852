"""`Rewriter`: passes the events of a run and of its sub-agents through the middleware that rewrites
them, and makes the result legal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.guard.guard import Guard
from headrace.engine.middleware.middleware import RunView
from headrace.errors import HeadraceError
from headrace.events import Event, Record, RunStarted, UnknownEvent

_Path = tuple[str, ...]


class Rewriter:
    """Rewrites events. Each run, nested ones included, has its own state."""

    def __init__(self, chain: Chain, view: RunView) -> None:
        self._chain = chain
        self._views: dict[_Path, RunView] = {view.path: view}
        self._guards: dict[_Path, Guard] = {}
        # The batch that is being rewritten: the results so far, and the events that are left.
        self._rewritten: list[Event] = []
        self._unwritten: list[Event] = []
        self._is_censoring = False

    def _guard(self, path: _Path) -> Guard:
        guard = self._guards.get(path)
        if guard is None:
            guard = self._guards[path] = Guard()
        return guard

    def _view(self, path: _Path) -> RunView:
        view = self._views.get(path)
        if view is None:
            root = next(iter(self._views.values()))
            view = self._views[path] = RunView(root.run_id, root.model, path, root.user)
        return view

    def _forget(self, path: _Path) -> None:
        """Forget an earlier run at this path: a call id may come again in a later turn."""
        self._guards.pop(path, None)
        if path != next(iter(self._views)):
            self._views.pop(path, None)

    def restore(self, records: Iterable[Record]) -> None:
        """Take the records that an earlier process has written."""
        for record in records:
            if isinstance(record.event, RunStarted):
                self._forget(record.path)
            if not isinstance(record.event, UnknownEvent):
                self._guard(record.path).restore(record.event)

    async def rewrite(
        self, events: Sequence[Event], path: _Path
    ) -> tuple[list[Event], HeadraceError | None]:
        """Return the events as middleware rewrites them, and its first error. An event that
        could not be rewritten may hold a secret: a placeholder takes its place if the structure
        of the run needs it."""
        if events and isinstance(events[0], RunStarted):
            self._forget(path)
        guard, view = self._guard(path), self._view(path)
        if self._is_censoring:
            return [legal for event in events for legal in guard.censor(event)], None
        self._rewritten, self._unwritten = [], list(events)
        first_error: HeadraceError | None = None
        for event in events:
            results, latest, error = await self._chain.rewrite(view, event)
            if error is not None and latest is None:
                latest = guard.placeholder(event)
            self._rewritten += guard.feed(event, results, latest)
            del self._unwritten[0]
            first_error = first_error or error
        legal, self._rewritten = self._rewritten, []
        return legal, first_error

    def give_up(self, path: _Path) -> list[Event]:
        """Call middleware no more. Returns what was rewritten of the current batch, with
        placeholders for the rest."""
        self._is_censoring = True
        events, self._rewritten = self._rewritten, []
        rest, self._unwritten = self._unwritten, []
        for event in rest:
            events += self._guard(path).censor(event)
        return events
