"""The gate in front of every route: who may reach the server from where, and with how much."""

from __future__ import annotations

import logging
import uuid
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.errors import HeadraceError
from headrace.server.http.event_stream import STREAM
from headrace.server.http_error import Problem, answer, media_type
from headrace.server.service import Service
from headrace.server.storage.database import StorageFailed
from headrace.server.storage.store import KeyTaken, NotFound, RunLive

_SAFE = ("GET", "HEAD", "OPTIONS")
_FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
_CSP = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none';"
    b" frame-ancestors 'none'"
)
_logger = logging.getLogger("headrace.server")


class Gate:
    """Checks host, origin and size before anything else, and turns failures into answers. Where
    nobody has opened the service, the first request does."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._settings = service.settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        sender = _Sender(send, request_id)
        try:
            self._check(scope)
            if not self._service.is_ready:
                await self._service.open()
            await self._app(scope, receive, sender)
            if (stream := scope["state"].pop(STREAM, None)) is not None:
                await stream(scope, receive, sender)
        except (Problem, HeadraceError) as error:
            problem = _problem(error)
            if sender.has_begun:
                raise
            reply = answer(
                problem.status, problem.code, problem.message, request_id, **problem.more
            )
            await reply(scope, receive, sender)
        except Exception:
            _logger.exception("request %s failed", request_id)
            if sender.has_begun:
                raise
            text = "something broke on our side; the request id finds it in the server's log"
            await answer(500, "internal", text, request_id)(scope, receive, sender)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _name_of(host) not in self._settings.hosts:
            raise Problem(421, "wrong_host", "this server is not known under that name")
        if scope["method"] in _SAFE:
            return
        self._check_origin(headers, host)
        self._check_type(headers)
        self._check_size(headers)

    def _check_origin(self, headers: Headers, host: str) -> None:
        """A page of another site must not act for the user who has it open."""
        origin = headers.get("origin")
        is_foreign = origin is not None and urlsplit(origin).netloc != host
        if is_foreign or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Problem(403, "foreign_origin", "requests of other sites are refused")

    def _check_type(self, headers: Headers) -> None:
        """What a page of another site can send without being asked for leave is no JSON."""
        if media_type(headers.get("content-type", "")) in _FORMS:
            raise Problem(415, "not_json", "send Content-Type: application/json")

    def _check_size(self, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        limit = self._settings.max_body_bytes
        # A number of many digits is not even looked at.
        is_number = length.isascii() and length.isdigit() and len(length) < 19
        if not is_number or int(length) > limit:
            raise Problem(413, "too_large", f"a request may have {limit} bytes")


class _Sender:
    """Sends, and puts the headers of every answer to it."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            message["headers"] = [
                *message.get("headers", []),
                (b"x-request-id", self._request_id),
                (b"content-security-policy", _CSP),
                (b"x-content-type-options", b"nosniff"),
                (b"referrer-policy", b"no-referrer"),
            ]
        await self._send(message)


def _name_of(host: str) -> str:
    """The host without its port."""
    name, bracket, _ = host.partition("]") if host.startswith("[") else host.partition(":")
    return (name + "]" if bracket == "]" else name).lower()


def _problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case NotFound():
            return Problem(404, "not_found", str(error))
        case RunLive():
            text = (
                "an answer under this message is still being written: watch it, or ask for a branch"
            )
            return Problem(409, "run_live", text, event_id=error.message_id)
        case KeyTaken():
            return Problem(422, "key_taken", str(error))
        case StorageFailed():
            _logger.error("the database failed: %s", error)
            text = "the server cannot write at the moment: try again later"
            return Problem(503, "storage", text, retry_after_s=5.0)
        case _:
            return Problem(400, "bad_request", str(error))
