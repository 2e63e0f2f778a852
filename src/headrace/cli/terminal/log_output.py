"""Prints the log of Headrace on stderr."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from headrace.cli.terminal.safe_text import visible, visible_lines

# What every record has; everything else was given as `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LineFormatter(logging.Formatter):
    """Formats a record as one line, with control characters shown as symbols. Only a traceback
    behind it has further lines."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (of the base class)
        # A client chooses some of the text, and must not be able to add lines.
        return visible(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(super().format(record))


class JSONFormatter(logging.Formatter):
    """Formats a record as one line of JSON: time, level, logger, message, and the fields that the
    record has, such as `event`, `request_id` and `run_id`."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {k: v for k, v in vars(record).items() if k not in _STANDARD and v is not None}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def print_log(level: int, *, is_json: bool = False, others: Sequence[str] = ()) -> None:
    """Print the records of all layers from this level on, as text or as JSON; and the warnings of
    `others`, which are loggers of libraries."""
    handler = logging.StreamHandler()
    handler.setFormatter(JSONFormatter() if is_json else LineFormatter())
    logger = logging.getLogger("headrace")
    logger.addHandler(handler)
    logger.setLevel(level)
    for name in others:
        logging.getLogger(name).addHandler(handler)
