"""The log of runs: every record, in order, stored before any client sees it."""

from headrace.server.storage.log.log import Done, Log, Tail
from headrace.server.storage.log.sqlite import SQLiteLog

__all__ = ["Done", "Log", "SQLiteLog", "Tail"]
