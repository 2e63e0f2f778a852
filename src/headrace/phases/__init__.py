"""What a model is doing, told from its records: phases, status phrases and timelines. Derived,
never logged; nothing here changes what the records say."""

from headrace.phases.consumer import Consumer, consume, consume_async
from headrace.phases.span import Span
from headrace.phases.stats import OutputStats, output_status
from headrace.phases.status import StatusReader
from headrace.phases.timeline import Timeline, TimelineReader, timeline
from headrace.phases.tracker import Notice, OutputContext, PhaseTracker

__all__ = [
    "Consumer",
    "Notice",
    "OutputContext",
    "OutputStats",
    "PhaseTracker",
    "Span",
    "StatusReader",
    "Timeline",
    "TimelineReader",
    "consume",
    "consume_async",
    "output_status",
    "timeline",
]
