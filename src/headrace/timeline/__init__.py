"""Timelines: when a stream was reasoning, calling tools and writing text, and for how long.

Timelines are derived from records and are never logged.
"""

from headrace.timeline.span import Span
from headrace.timeline.timeline import Timeline, TimelineReader, timeline

__all__ = ["Span", "Timeline", "TimelineReader", "timeline"]
