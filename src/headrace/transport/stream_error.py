"""The exception for a stream that breaks after it began."""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import HeadraceError
from headrace.outcome import ErrorCategory, ErrorInfo
from headrace.secrets.scrub import scrub

_MAX_REASON_CHARS = 200


class StreamBroken(HeadraceError):
    """The network broke, a timeout passed, or the bytes exceeded a limit of the transport.

    The reader of the stream turns it into one terminal event with `error`.
    """

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(error.message)
        self.error = error


def stream_broken(category: ErrorCategory, message: str) -> StreamBroken:
    """Create a `StreamBroken`. Network errors are retryable."""
    return StreamBroken(ErrorInfo(category, message, retryable=category in ("network", "timeout")))


def reason_of(error: Exception, clean: Callable[[str], str] = scrub) -> str:
    """Return the system's or client's error text, shortened.

    It is cleaned before it is cut, since half a key would not be recognized.
    """
    told = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return clean(told)[:_MAX_REASON_CHARS]
