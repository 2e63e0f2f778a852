"""What a stream raises when it breaks after it began."""

from __future__ import annotations

from headrace.content import ErrorCategory, Failure
from headrace.errors import HeadraceError


class StreamBroken(HeadraceError):
    """The network broke, a timeout passed, or the bytes passed a limit of the transport.

    Whoever reads the stream turns it into one terminal event, with `failure`.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def broken(category: ErrorCategory, message: str) -> StreamBroken:
    """The break, told; what the network did may go better next time."""
    return StreamBroken(Failure(category, message, retryable=category in ("network", "timeout")))
