"""`RequestLog`: ASGI middleware that logs and measures the requests to a server."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.log import get_logger
from headrace.server.http.direct_writer import DIRECT_BYTES
from headrace.telemetry import names
from headrace.telemetry.histogram import Histograms
from headrace.telemetry.measurement import Measurement
from headrace.telemetry.span import Attributes

_logger = get_logger("access")
_METHODS = frozenset("DELETE GET HEAD OPTIONS PATCH POST PUT".split())
_OPENED = 101
# Everything else in a path, such as a line break, is logged as its code.
_PLAIN = "/:@!$&'()*+,;=~"


class RequestLog:
    """Logs each request at its end, if the logger `headrace.access` is enabled, and counts its
    duration in a histogram.

    The path is logged, but neither query nor headers nor bodies, which may hold content or secrets.
    A stream is logged when it ends. `histograms` is None if something else measures the requests.
    """

    def __init__(
        self,
        app: ASGIApp,
        histograms: Histograms | None,
        find_route: Callable[[Scope], str | None],
    ) -> None:
        self._app = app
        self._histograms = histograms
        self._find_route = find_route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        started_s = time.perf_counter()
        status, size = 0, 0

        async def watch(message: Message) -> None:
            nonlocal status, size
            kind = message["type"]
            if kind == "http.response.body":
                size += len(message.get("body", b""))
            elif kind.endswith(".response.start"):
                status = message["status"]
            elif kind == "websocket.accept":
                status = _OPENED
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            seconds = time.perf_counter() - started_s
            size += scope.get(DIRECT_BYTES, 0)
            if self._histograms is not None and scope["type"] == "http":
                self._histograms.record(self._measure(scope, status, seconds))
            if _logger.isEnabledFor(logging.INFO):
                _log(scope, status, size, seconds)

    def _measure(self, scope: Scope, status: int, seconds: float) -> Measurement:
        method = scope["method"]
        about: Attributes = {names.HTTP_METHOD: method if method in _METHODS else "_OTHER"}
        if (route := self._find_route(scope)) is not None:
            about[names.HTTP_ROUTE] = route
        if status:
            about[names.HTTP_STATUS] = status
        return Measurement(names.HTTP_DURATION, seconds, about)


def _log(scope: Scope, status: int, size: int, seconds: float) -> None:
    """Log one request. A status of 0 means that the client left before the response began."""
    state = scope.get("state", {})
    client = scope.get("client")
    fields = {
        "event": "request",
        "method": scope.get("method", "WEBSOCKET"),
        "path": quote(scope["path"], _PLAIN, errors="surrogatepass"),
        "status": status,
        "duration_ms": round(seconds * 1000, 1),
        "bytes": size,
        "client": client[0] if client else None,
        "user": state.get("user"),
        "request_id": state.get("request_id"),
    }
    _logger.info(
        "%(method)s %(path)s %(status)s in %(duration_ms)s ms, %(bytes)s bytes,"
        " client %(client)s, user %(user)s, request %(request_id)s",
        fields,
        extra=fields,
    )
