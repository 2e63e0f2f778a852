"""Middleware in front of every route: checks host, origin and size, and reports errors."""

from __future__ import annotations

import asyncio
import uuid

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from headrace.errors import HeadraceError
from headrace.log import get_logger
from headrace.server.accounts.origin import SAFE_METHODS, host_name, is_foreign
from headrace.server.http.error_map import to_http_error
from headrace.server.http.error_shape import UPLOAD_PATHS, find_error_shape, local_path
from headrace.server.http.event_stream import MAX_CHUNK_BYTES, STREAM, abort_connection
from headrace.server.http.middleware.cross_origin import CrossOrigin
from headrace.server.http_error import HTTPError, media_type
from headrace.server.service import Service

_FORM_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
_CSP = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none';"
    b" frame-src 'self';"
    b" frame-ancestors 'none'"
)
_NO_STORE = (b"cache-control", b"no-store")
_logger = get_logger("server")


class SecurityMiddleware:
    """Checks host, origin and size of each request, and turns exceptions into responses.

    It also opens the service with the first request, if nobody has opened it, and sends the streams
    of `DeferredStream`.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._settings = service.settings
        self._cross_origin = CrossOrigin(service.settings.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._serve_websocket(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        headers = Headers(scope=scope)
        more = self._cross_origin.response_headers(headers)
        sender = _Sender(send, receive, request_id, self._settings.send_timeout_s, more)
        try:
            self._check(scope)
            preflight = self._cross_origin.answer_preflight(scope["method"], headers)
            if preflight is not None:
                await preflight(scope, receive, sender)
                return
            if not self._service.is_ready:
                await self._service.open()
            await self._app(scope, receive, sender)
            if (stream := scope["state"].pop(STREAM, None)) is not None:
                await stream(scope, receive, sender)
        except (HTTPError, HeadraceError) as raised:
            if sender.has_started:
                raise
            report = find_error_shape(local_path(scope))
            await report(to_http_error(raised), request_id)(scope, receive, sender)
        except Exception:
            _logger.exception("request %s failed", request_id)
            if sender.has_started:
                raise
            text = "internal error: look for the request id in the server's log"
            report = find_error_shape(local_path(scope))
            await report(HTTPError(500, "internal", text), request_id)(scope, receive, sender)

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a WebSocket on after the same checks as a request that changes something: a page of
        another site can open one without asking."""
        request_id = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        try:
            headers = self._check_host(scope)
            self._check_origin(headers)
            if not self._service.is_ready:
                await self._service.open()
            await self._app(scope, receive, send)
        except (HTTPError, HeadraceError) as raised:
            report = find_error_shape(local_path(scope))
            response = report(to_http_error(raised), request_id)
            websocket = WebSocket(scope, receive, send)
            if "websocket.http.response" in scope.get("extensions", {}):
                await websocket.send_denial_response(response)
            else:
                await websocket.close()
        except Exception:
            _logger.exception("WebSocket %s failed", request_id)
            raise

    def _check(self, scope: Scope) -> None:
        headers = self._check_host(scope)
        if scope["method"] in SAFE_METHODS:
            return
        self._check_origin(headers)
        self._check_type(headers)
        self._check_size(headers, local_path(scope))

    def _check_host(self, scope: Scope) -> Headers:
        """Refuse a host name that is not one of this server. Returns the headers."""
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) > 1:
            raise HTTPError(400, "bad_request", "the request names more than one host")
        if host_name(headers.get("host", "")) not in self._settings.hosts:
            raise HTTPError(421, "wrong_host", "this server does not accept this host name")
        return headers

    def _check_origin(self, headers: Headers) -> None:
        """Refuse requests that a page of another site sends on behalf of its visitor."""
        if not self._cross_origin.allows(headers) and is_foreign(headers):
            raise HTTPError(403, "foreign_origin", "requests from other sites are refused")

    def _check_type(self, headers: Headers) -> None:
        """Refuse the types that a page of another site can send without a CORS preflight."""
        if media_type(headers.get("content-type", "")) in _FORM_TYPES:
            raise HTTPError(415, "not_json", "send Content-Type: application/json")

    def _check_size(self, headers: Headers, path: str) -> None:
        length = headers.get("content-length", "0")
        limit = self._settings.max_body_bytes
        if path.startswith(UPLOAD_PATHS):
            limit = self._settings.max_upload_bytes
        # A number of many digits is not even parsed.
        is_number = length.isascii() and length.isdigit() and len(length) < 19
        if not is_number or int(length) > limit:
            raise HTTPError(413, "too_large", f"the request body is larger than {limit} bytes")


class _Sender:
    """Sends a response with the headers that every response has.

    A long body is sent in chunks, so that the server keeps only a part of it in its buffers. A
    client that does not read a chunk within `timeout_s` is disconnected.
    """

    def __init__(
        self,
        send: Send,
        receive: Receive,
        request_id: str,
        timeout_s: float,
        more_headers: list[tuple[bytes, bytes]],
    ) -> None:
        self._send = send
        self._receive = receive
        self._request_id = request_id.encode()
        self._timeout_s = timeout_s
        self._more_headers = more_headers
        self.has_started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started = True
            headers = message.get("headers", [])
            # What belongs to a user must not stay in a cache that others share.
            is_marked = any(name == b"cache-control" for name, _ in headers)
            has_policy = any(name == b"content-security-policy" for name, _ in headers)
            message["headers"] = [
                *headers,
                *([] if is_marked else [_NO_STORE]),
                (b"x-request-id", self._request_id),
                *([] if has_policy else [(b"content-security-policy", _CSP)]),
                (b"x-content-type-options", b"nosniff"),
                (b"referrer-policy", b"no-referrer"),
                *self._more_headers,
            ]
        elif len(message.get("body", b"")) > MAX_CHUNK_BYTES:
            await self._send_chunks(message["body"], message.get("more_body", False))
            return
        await self._send(message)

    async def _send_chunks(self, body: bytes, more: bool) -> None:
        try:
            for start in range(0, len(body), MAX_CHUNK_BYTES):
                end = start + MAX_CHUNK_BYTES
                chunk = {"type": "http.response.body", "body": body[start:end]}
                async with asyncio.timeout(self._timeout_s):
                    await self._send({**chunk, "more_body": more or end < len(body)})
                # Sending does not wait while the client reads quickly; others must have their turn.
                await asyncio.sleep(0)
        except TimeoutError:
            await abort_connection(self._receive)
