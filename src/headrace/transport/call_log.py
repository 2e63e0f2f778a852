"""`CallLog`: log lines about one call to a provider."""

from __future__ import annotations

import time

from headrace.errors import HeadraceError, RequestFailed
from headrace.log import get_logger
from headrace.transport.call_secrets import address_of
from headrace.transport.transport import HTTPCall

_logger = get_logger("transport")


class CallLog:
    """Logs at the level DEBUG when a call is sent, answered or refused, and when its stream ends.

    The address is logged without login and query, and nothing of the body and the headers.
    """

    def __init__(self, call: HTTPCall, method: str = "POST") -> None:
        self._url = address_of(call.url)
        self._sent_s = time.monotonic()
        self._request_id: str | None = None
        _logger.debug(
            "%s %s with %d bytes",
            method,
            self._url,
            len(call.body),
            extra={"event": "request_sent", "url": self._url, "sent_bytes": len(call.body)},
        )

    def log_answer(self, status: int | str, request_id: str | None) -> None:
        """Log that the response has begun. The id must not contain secrets."""
        self._request_id = request_id
        self._log("request_answered", "answered with %s", status, status=status)

    def log_error(self, error: HeadraceError) -> None:
        """Log that no stream began."""
        if not isinstance(error, RequestFailed):
            return
        self._request_id = error.request_id
        category, status = error.category, error.status
        self._log("request_failed", "failed (%s)", category, category=category, status=status)

    def log_end(self, received_bytes: int) -> None:
        """Log that the response was closed, at its end or before."""
        self._log(
            "response_closed",
            "closed after %d bytes",
            received_bytes,
            received_bytes=received_bytes,
        )

    def _log(self, event: str, text: str, value: object, **fields: object) -> None:
        ms = round(1_000 * (time.monotonic() - self._sent_s))
        common = {"event": event, "url": self._url, "ms": ms, "request_id": self._request_id}
        _logger.debug(f"%s {text}, %d ms", self._url, value, ms, extra=common | fields)
