"""What a stream raises when it breaks after it began, and what is told of an error."""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import HeadraceError
from headrace.outcome import ErrorCategory, ErrorInfo
from headrace.secrets.scrub import scrub

_MAX_REASON_CHARS = 200


class StreamBroken(HeadraceError):
    """The network broke, a timeout passed, or the bytes passed a limit of the transport.

    Whoever reads the stream turns it into one terminal event, with `failure`.
    """

    def __init__(self, failure: ErrorInfo) -> None:
        super().__init__(failure.message)
        self.failure = failure


def broken(category: ErrorCategory, message: str) -> StreamBroken:
    """The break, told; what the network did may go better next time."""
    return StreamBroken(ErrorInfo(category, message, retryable=category in ("network", "timeout")))


def reason_of(error: Exception, clean: Callable[[str], str] = scrub) -> str:
    """What the system says, or the client, whose texts may be long. Cleaned before it is cut:
    half of a key is not found any more."""
    told = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return clean(told)[:_MAX_REASON_CHARS]
