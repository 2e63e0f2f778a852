"""`ConversationRun`: a run that is added to the history when its block is left."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from headrace.engine.run import Run
from headrace.errors import UsageError


class ConversationRun:
    """A run that has not started: enter it to get the `Run`. `begin` creates the run, `end` is
    called after it has ended."""

    def __init__(self, begin: Callable[[], Run], end: Callable[[Run], None]) -> None:
        self._begin = begin
        self._end = end
        self._run: Run | None = None

    def _create_run(self) -> Run:
        if self._run is not None:
            raise UsageError("a run can be entered only once: call conversation.run() again")
        self._run = self._begin()
        return self._run

    async def __aenter__(self) -> Run:
        run = self._create_run()
        try:
            return await run.__aenter__()
        except BaseException:
            self._end(run)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._run is not None
        try:
            await self._run.__aexit__(kind, error, traceback)
        finally:
            self._end(self._run)

    def __enter__(self) -> Run:
        run = self._create_run()
        try:
            return run.__enter__()
        except BaseException:
            self._end(run)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._run is not None
        try:
            self._run.__exit__(kind, error, traceback)
        finally:
            self._end(self._run)
