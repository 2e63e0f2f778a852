"""The settings of one run, fixed before it starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from headrace.engine.history.compaction import Compactor
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.chain import Chain
from headrace.tools import Toolset
from headrace.transport.retry import RetryPolicy
from headrace.turn.fallback import Fallback, Switch
from headrace.turn.target import TurnTarget
from headrace.wire.limits import WireLimits


@dataclass(kw_only=True)
class RunConfig:
    """The models with their first requests, the tools, the middleware and the limits of a run."""

    targets: Sequence[TurnTarget]
    """The model, or the entries of a fallback."""
    tools: Toolset
    chain: Chain
    limits: RunLimits
    wire_limits: WireLimits
    strict: bool
    policy: RetryPolicy
    compactor: Compactor | None = None
    fallback: Fallback | None = None
    load: Callable[[], Awaitable[RunConfig]] | None = None
    """Returns the same configuration with the tools of MCP servers, which have to be asked for
    them, or None if there are no such servers."""
    at: int = 0
    """The target that is asked now; it changes if a model fails."""
    switches: list[Switch] = field(default_factory=list[Switch])
    """The changes from one target to another so far."""

    @property
    def name(self) -> str:
        """The preferred model, as `provider:model`."""
        return self.targets[0].model.name

    @property
    def target(self) -> TurnTarget:
        """The model that is asked now."""
        return self.targets[self.at]
