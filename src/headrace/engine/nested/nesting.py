"""`Nesting`: how a nested run is connected to the run around it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.engine.resume.progress import RunProgress
from headrace.engine.run_scope import RunScope
from headrace.events import Event


class WriteNested(Protocol):
    """Writes events of a nested run to the log of the outermost run, and waits for it."""

    def __call__(
        self, events: Sequence[Event], path: tuple[str, ...], step: int
    ) -> Awaitable[None]: ...


def never() -> bool:
    """Return False: the run does not wait."""
    return False


@dataclass
class Nesting:
    """The place of a nested run."""

    scope: RunScope
    progress: RunProgress
    """How far the nested run is. The run around it feeds it what has been logged."""
    write: WriteNested
    outer_steps: tuple[int, ...]
    """Steps of the runs around this one in which the calls of its path were made."""
    wake: Callable[[], None]
    """Tells the run around it that this one may have begun to wait."""
    closing_s: float
    """Seconds to wait for calls of the nested run that do not end when they are cancelled."""
    timer: asyncio.Timeout | None = None
    """The time limit of the call. It stands still while the nested run waits for input."""
    is_waiting: Callable[[], bool] = never
    """Whether the nested run only waits for input."""

    @property
    def path(self) -> tuple[str, ...]:
        """Call ids that lead to the nested run."""
        return self.progress.path

    def find_problem(self) -> str | None:
        """Return why the run may not start, or None. A run that may start is counted."""
        limits = self.scope.limits
        if len(self.path) > limits.max_depth:
            return f"max_depth={limits.max_depth}"
        if self.progress.state == "before":
            if self.scope.nested_runs >= limits.max_nested_runs:
                return f"max_nested_runs={limits.max_nested_runs}"
            self.scope.nested_runs += 1
        return None
