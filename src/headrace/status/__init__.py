"""Status phrases: what a model says it is doing, extracted from its reasoning and its tools.

Status phrases are derived from records and are never logged.
"""

from headrace.status.extraction import extract_status, parse_status_marker
from headrace.status.reader import StatusReader

__all__ = ["StatusReader", "extract_status", "parse_status_marker"]
