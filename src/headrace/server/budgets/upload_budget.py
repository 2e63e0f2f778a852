"""A budget for the memory of request bodies that are being received."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from headrace.server.http_error import HTTPError

MAX_BYTES: Final = 256 * 1024 * 1024
"""Most bytes of large request bodies in memory while they arrive."""


class UploadBudget:
    """Limits the memory that large request bodies take while they arrive, for all clients together:
    one that sends slowly would otherwise keep its body in memory for as long as it likes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self.used_bytes = 0
        """Bytes that have arrived of all bodies."""

    @contextmanager
    def upload(self) -> Generator[Upload, None, None]:
        """Count a body until the block is left."""
        upload = Upload(self)
        try:
            yield upload
        finally:
            self.used_bytes -= upload.bytes

    def add(self, count: int) -> None:
        """Count bytes. Raises an `HTTPError` of 503 if there are too many."""
        self.used_bytes += count
        if self.used_bytes > self._max_bytes:
            text = "too many large requests arrive at the same time: try again soon"
            raise HTTPError(503, "busy_uploads", text, retry_after_s=2.0)


class Upload:
    """One body that is being received."""

    def __init__(self, budget: UploadBudget) -> None:
        self._budget = budget
        self.bytes = 0

    def add(self, count: int) -> None:
        """Count bytes that have arrived. Raises an `HTTPError` of 503 if there are too many of all
        bodies together."""
        self.bytes += count
        self._budget.add(count)
