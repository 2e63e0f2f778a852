"""All that is settled before a run begins."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.encoders import Request
from headrace.engine.history.compaction import Compactor
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.chain import Chain
from headrace.tools import Toolset
from headrace.transport.retry import RetryPolicy
from headrace.turn.model import Model
from headrace.wire.limits import WireLimits


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Whom to ask, for what, with which tools, and within which bounds."""

    model: Model
    request: Request
    tools: Toolset
    chain: Chain
    limits: RunLimits
    wire_limits: WireLimits
    policy: RetryPolicy
    compactor: Compactor | None = None
