"""The bounds of a run."""

from __future__ import annotations

import msgspec

from headrace.errors import UsageError


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may take. A bound that is reached ends the run as `aborted`, except that a
    tool's own bounds give an error result, which the model may read."""

    max_iterations: int = 32
    """Steps, that is provider turns."""
    run_timeout_s: float | None = None
    turn_timeout_s: float | None = None
    tool_timeout_s: float | None = 120.0
    """For tools that name no timeout of their own."""
    max_parallel_tools: int = 8
    max_result_chars: int = 200_000
    """Of one result; the rest is cut, and the cut is said."""
    turn_attempts: int = 2
    """How often a turn is asked for that began, and failed before its first delta. Refusals
    before it begins are the retry policy's."""
    retries_late: bool = False
    """Whether a turn is also taken back and tried again after its first delta."""
    closing_s: float = 5.0
    """How long an abort waits for tools that do not end when they are cancelled."""

    def __post_init__(self) -> None:
        for name in ("max_iterations", "max_parallel_tools", "max_result_chars", "turn_attempts"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1, not {getattr(self, name)}")


DEFAULT_RUN_LIMITS = RunLimits()
