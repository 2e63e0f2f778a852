"""Phase tracking: whether each output of a stream is reasoning, writing text or complete.

Phases are derived from records and are never logged.
"""

from headrace.phases.callbacks import Consumer, consume, consume_async
from headrace.phases.output_stats import OutputStats, output_status
from headrace.phases.tracker import Notice, OutputContext, PhaseTracker

__all__ = [
    "Consumer",
    "Notice",
    "OutputContext",
    "OutputStats",
    "PhaseTracker",
    "consume",
    "consume_async",
    "output_status",
]
