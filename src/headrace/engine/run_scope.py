"""`RunScope`: what a run shares with the runs that are nested in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.engine.input.requests import InputRequests
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.chain import Chain


@dataclass
class RunScope:
    """What a run shares with the runs that are nested in it."""

    run_id: str
    inputs: InputRequests
    clock: Callable[[], float]
    limits: RunLimits
    """The limits of the outermost run."""
    user: str | None = None
    suspends: bool = False
    """Whether the run ends its process when it only waits for input."""
    chain: Chain | None = None
    """The middleware of the outermost run."""
    nested_runs: int = 0
    """How many nested runs have been started."""
