"""Phase tracking: whether each output of a stream is reasoning, writing text or complete.

Phases are derived from records and are never logged.
"""

from headrace.phases.callbacks import (
    Consumer,
    consume,
    consume_async,
    consume_reads,
    consume_reads_async,
)
from headrace.phases.tracker import Notice, OutputContext, OutputStats, PhaseTracker, output_status

__all__ = [
    "Consumer",
    "Notice",
    "OutputContext",
    "OutputStats",
    "PhaseTracker",
    "consume",
    "consume_async",
    "consume_reads",
    "consume_reads_async",
    "output_status",
]
