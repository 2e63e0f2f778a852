"""`RunLimits`: the limits of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from headrace.errors import UsageError


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a run. A run that reaches one ends as `aborted`; the limits of a tool give the
    model an error result instead."""

    max_iterations: int = 32
    """Most steps; each is one turn of the model and its calls."""
    run_timeout_s: float | None = None
    """Time for the whole run, including tools and pauses, but not the wait for input. A run that is
    resumed has the whole time again."""
    turn_timeout_s: float | None = None
    """Time for one turn, from the request to the last byte."""
    tool_timeout_s: float | None = 120.0
    """For tools without a timeout of their own."""
    max_parallel_tools: int = 8
    """Most calls of one turn that run at the same time; the others wait."""
    max_result_chars: int = 200_000
    """Most characters of one result; the rest is cut, and the cut is noted."""
    turn_attempts: int = 2
    """How many times to try a turn that fails after it has started but before its first delta.
    Refused requests are handled by the retry policy."""
    retries_late: bool = False
    """Whether a turn is also discarded and retried after its first delta."""
    max_calls: Mapping[str, int] = {}
    """Most calls of a tool in one run, by the name of the tool. Later calls get an error result."""
    input_timeout_s: float | None = None
    """Time for an answer to a request for input, if the request has no time of its own; None means
    that it never expires."""
    on_expiry: Literal["end", "continue"] = "end"
    """What happens when a request for input expires: the run ends as `aborted`, or the call gets an
    error result and the model is asked again."""
    max_depth: int = 3
    """Most levels of sub-agents below the run."""
    max_nested_runs: int = 32
    """Most sub-agents that a run may start, those of its sub-agents included."""
    closing_s: float = 0.5
    """Seconds to wait for tools that do not end when they are cancelled. A tool that takes longer
    is left behind: it may go on, but its reports and its result are ignored."""
    settle_s: float = 5.0
    """Seconds to wait, when a run is ended, for a log or a hook that does not return."""

    def __post_init__(self) -> None:
        for name in ("max_iterations", "max_parallel_tools", "max_result_chars", "turn_attempts"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1; got {getattr(self, name)}")


DEFAULT_RUN_LIMITS = RunLimits()
