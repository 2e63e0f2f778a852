"""The settings of one run, fixed before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.encoders import Request
from headrace.engine.history.compaction import Compactor
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.chain import Chain
from headrace.tools import Toolset
from headrace.transport.retry import RetryPolicy
from headrace.transport.transport import HTTPCall
from headrace.turn.model import Model
from headrace.typed.plan import OutputPlan
from headrace.wire.limits import WireLimits


@dataclass(kw_only=True)
class RunConfig:
    """The model, the first request, the tools, the middleware and the limits of a run. Raises
    `UsageError` for a request that cannot be encoded for the model."""

    model: Model
    request: Request
    tools: Toolset
    chain: Chain
    limits: RunLimits
    wire_limits: WireLimits
    strict: bool
    policy: RetryPolicy
    compactor: Compactor | None = None
    output_plan: OutputPlan | None = None

    def __post_init__(self) -> None:
        # Encoding validates the request before the run starts; the first turn sends the result.
        self._first_call: HTTPCall | None = self.model.call(self.request)

    def encode(self, request: Request) -> HTTPCall:
        """Encode the request of a turn, or return the call that was encoded already if it is
        the first turn and middleware did not replace the request."""
        call, self._first_call = self._first_call, None
        return call if call is not None and request is self.request else self.model.call(request)
