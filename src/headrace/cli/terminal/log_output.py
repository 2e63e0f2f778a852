"""Prints the log of Headrace on stderr."""

from __future__ import annotations

import logging

from headrace.cli.terminal.safe_text import visible_lines


class _LineFormatter(logging.Formatter):
    """Formats a record as one line, with control characters shown as symbols."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(super().format(record))


def print_log(level: int) -> None:
    """Print the records of all layers from this level on."""
    handler = logging.StreamHandler()
    handler.setFormatter(_LineFormatter())
    logger = logging.getLogger("headrace")
    logger.addHandler(handler)
    logger.setLevel(level)
