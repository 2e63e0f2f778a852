"""`HTTPSpans`: ASGI middleware that records the requests to a server as spans."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

from opentelemetry.context import attach, detach
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from headrace.otel.recorder import Recorder
from headrace.telemetry import names
from headrace.telemetry.measurement import Measurement
from headrace.telemetry.span import Attributes

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_propagator = TraceContextTextMapPropagator()
_METHODS = frozenset("CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE".split())
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class HTTPSpans:
    """Records each request, from its head to the last byte of its response, and continues the trace
    that its `traceparent` header names. Runs that a request starts become children of its span.

    The path is recorded, but neither query nor headers nor bodies, which may hold secrets. Probes
    of the health and the metrics of the server are left out.
    """

    def __init__(self, app: App, recorder: Recorder, routes: Callable[[Scope], str | None]) -> None:
        self._app = app
        self._recorder = recorder
        self._find_route = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or scope["path"] in _QUIET:
            await self._app(scope, receive, send)
            return
        await self._record(scope, receive, send)

    async def _record(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_s = time.perf_counter()
        method, attributes = _describe(scope)
        parent = _propagator.extract(_read_headers(scope))
        span = self._recorder.tracer.start_span(
            method, context=parent, kind=SpanKind.SERVER, attributes=attributes
        )
        status: int | None = None

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        token = attach(set_span_in_context(span, parent))
        error: str | None = None
        try:
            await self._app(scope, receive, watch)
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            detach(token)
            route = self._find_route(scope)
            told = _describe_end(route, status, error)
            span.set_attributes(told)
            if route is not None:
                span.update_name(f"{method} {route}")
            if names.ERROR_TYPE in told:
                span.set_status(Status(StatusCode.ERROR))
            span.end()
            kept = {name: attributes[name] for name in (names.HTTP_METHOD, names.URL_SCHEME)}
            seconds = time.perf_counter() - started_s
            measurement = Measurement(names.HTTP_DURATION, seconds, {**kept, **told})
            self._recorder.record(measurement)


def _describe(scope: Scope) -> tuple[str, Attributes]:
    """Return the name of the method for the span, and the attributes that are known at first."""
    method = str(scope["method"]).upper()
    known = method if method in _METHODS else "_OTHER"
    attributes: Attributes = {
        names.HTTP_METHOD: known,
        names.URL_SCHEME: str(scope.get("scheme", "http")),
        names.URL_PATH: str(scope["path"]),
    }
    return ("HTTP" if known == "_OTHER" else known), attributes


def _describe_end(route: str | None, status: int | None, error: str | None) -> Attributes:
    told: Attributes = {} if route is None else {names.HTTP_ROUTE: route}
    if status is not None:
        told[names.HTTP_STATUS] = status
    if error is not None:
        told[names.ERROR_TYPE] = error
    elif status is not None and status >= 500:
        told[names.ERROR_TYPE] = str(status)
    return told


def _read_headers(scope: Scope) -> Mapping[str, str]:
    """Return the headers of the trace context."""
    wanted = (b"traceparent", b"tracestate")
    found = ((name, value) for name, value in scope["headers"] if name in wanted)
    return {name.decode(): value.decode("latin-1") for name, value in found}
