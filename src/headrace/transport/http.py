"""The HTTP transport: one POST whose response is read piece by piece.

Errors of the HTTP client are never chained to ours, because they hold the request's headers,
including the key.
"""

from __future__ import annotations

import asyncio
import ssl
from types import SimpleNamespace
from typing import Self

import aiohttp

from headrace.errors import HeadraceError, RequestFailed, UsageError
from headrace.outcome import ErrorCategory
from headrace.transport.body.decompression import ENCODINGS
from headrace.transport.body.push_protocol import create_connector
from headrace.transport.call_log import CallLog
from headrace.transport.call_secrets import address_of, secrets_of
from headrace.transport.env_proxy import find_proxy
from headrace.transport.error_response import holds_error, refusal
from headrace.transport.http_stream import HTTPStream, encoding_of, media_type_of
from headrace.transport.limits import (
    DEFAULT_HTTP_LIMITS,
    DEFAULT_TIMEOUTS,
    HTTPLimits,
    Timeouts,
)
from headrace.transport.process_pause import PauseAwareTimeout
from headrace.transport.stream_error import StreamBroken, reason_of
from headrace.transport.transport import HTTPCall, sign_call
from headrace.wire.error import describe_body


class HTTPTransport:
    """Opens streams over HTTP/1.1 and keeps connections between calls.

    It belongs to the event loop that first uses it. Close it there with `aclose()`, or use it with
    `async with`. Redirects are not followed, since they would take the key along. Proxies are taken
    from HTTP_PROXY, HTTPS_PROXY and NO_PROXY, except for this machine, or not at all without
    `trust_env`.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        limits: HTTPLimits = DEFAULT_HTTP_LIMITS,
        trust_env: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._timeouts = timeouts
        self._limits = limits
        self._trust_env = trust_env
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, call: HTTPCall) -> HTTPStream:
        """Send the call and return when the first bytes of a stream have arrived.

        Raises `RequestFailed` if none arrive, and `UsageError` if the call cannot be sent at all.
        """
        _check(call)
        log = CallLog(call)
        opened = await self._open(call)
        # Raised outside of the except block, so that the client's error is not chained.
        if isinstance(opened, HeadraceError):
            log.log_error(opened)
            raise opened
        opened.start_log(log)
        return opened

    async def fetch(self, call: HTTPCall, *, method: str = "GET") -> bytes:
        """Send a call whose response is one body, and return it.

        Raises `RequestFailed` if the provider refuses it, cannot be reached or sends too much.
        """
        _check(call)
        log = CallLog(call, method)
        fetched = await self._fetch(await sign_call(call), method)
        if isinstance(fetched, HeadraceError):
            log.log_error(fetched)
            raise fetched
        log.log_end(len(fetched))
        return fetched

    async def _fetch(self, call: HTTPCall, method: str) -> bytes | HeadraceError:
        limit = self._limits.max_body_bytes
        try:
            async with (
                asyncio.timeout(self._timeouts.first_event_s),
                self._client().request(
                    method,
                    call.url,
                    data=call.body or None,
                    headers=call.headers,
                    allow_redirects=False,
                    proxy=find_proxy(call.url) if self._trust_env else None,
                ) as response,
            ):
                body = bytearray()
                async for read in response.content.iter_any():
                    body += read
                    if len(body) > limit:
                        return _make_error(call, "protocol", f"it sent more than {limit} bytes")
        except (aiohttp.ClientError, OSError) as error:
            return self._convert_error(call, error)
        if not 200 <= response.status < 300:
            return refusal(call, response.status, response.headers, bytes(body))
        return bytes(body)

    async def aclose(self) -> None:
        """Close all connections, including those of open streams."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _open(self, call: HTTPCall) -> HTTPStream | HeadraceError:
        by_s = asyncio.get_running_loop().time() + self._timeouts.first_event_s
        try:
            async with PauseAwareTimeout(by_s):
                response = await self._send(call)
                return await self._begin(call, response, by_s)
        except (aiohttp.ClientError, OSError) as error:
            return self._convert_error(call, error)

    async def _send(self, call: HTTPCall) -> aiohttp.ClientResponse:
        headers = {n: value for n, value in call.headers.items() if n.lower() != _ACCEPTED}
        headers[_ACCEPTED] = "identity"
        while True:
            connection = _ConnectionInfo()
            try:
                return await self._client().post(
                    call.url,
                    data=call.body,
                    headers=headers,
                    allow_redirects=False,
                    proxy=find_proxy(call.url) if self._trust_env else None,
                    trace_request_ctx=connection,
                )
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                # The server has closed an idle connection at the moment it was used again. It
                # never answered on it, so the request is sent on another one.
                if not connection.is_reused:
                    raise

    def _client(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None:
            self._loop = loop
            self._session = _new_session(self._timeouts, self._tls)
        if self._loop is not loop:
            raise UsageError(
                "this HTTPTransport belongs to another event loop: make one for each loop,"
                " or close it before its loop ends"
            )
        return self._session

    async def _begin(
        self, call: HTTPCall, response: aiohttp.ClientResponse, by_s: float
    ) -> HTTPStream | RequestFailed:
        stream = HTTPStream(response, secrets_of(call), self._timeouts, self._limits, by_s)
        try:
            failed = await self._find_problem(call, response, stream)
        except StreamBroken as error:
            failed = _make_error(call, error.error.category, error.error.message)
        except BaseException:
            await stream.aclose()
            raise
        if failed is None:
            return stream
        await stream.aclose()
        return failed

    async def _find_problem(
        self, call: HTTPCall, response: aiohttp.ClientResponse, stream: HTTPStream
    ) -> RequestFailed | None:
        """Return what is wrong with the response, or None if a stream begins."""
        if encoding_of(response) not in {"", "identity", *ENCODINGS}:
            return _make_error(call, "protocol", _UNREADABLE)
        if not 200 <= response.status < 300:
            limit = self._limits.max_error_bytes
            body = (await stream.start(limit))[:limit]
            return refusal(call, response.status, response.headers, body)
        start = await stream.start(self._wanted_bytes(response))
        if not start:
            return _make_error(call, "incomplete", "it accepted the request but sent nothing")
        kind = media_type_of(response)
        if kind == "application/json" and holds_error(start):
            return refusal(call, response.status, response.headers, start)
        if kind == "text/html" and start.lstrip().startswith(b"<"):
            return _describe_page(call, start)
        return None

    def _wanted_bytes(self, response: aiohttp.ClientResponse) -> int:
        """Return how many bytes to read before the response is judged: all of a short one with a
        content length, otherwise one."""
        is_short = 0 < (response.content_length or 0) <= self._limits.max_error_bytes
        return self._limits.max_error_bytes if is_short else 1

    def _convert_error(self, call: HTTPCall, error: Exception) -> HeadraceError:
        match error:
            case aiohttp.ConnectionTimeoutError():
                told = f"no connection within connect_s={self._timeouts.connect_s:g}"
                return _make_error(call, "timeout", told)
            case TimeoutError():
                told = f"no response within first_event_s={self._timeouts.first_event_s:g}"
                return _make_error(call, "timeout", told)
            case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
                return UsageError(f"expected an http or https address; got {address_of(call.url)}")
            case aiohttp.ClientConnectorCertificateError():
                told = f"its certificate is not trusted: {error.certificate_error}"
                return _make_error(call, "network", told, retryable=False)
            case aiohttp.ClientResponseError():
                return _make_error(call, "protocol", f"its response is not HTTP: {error.message}")
            case aiohttp.ClientConnectorError():
                told = reason_of(error, secrets_of(call).clean)
                return _make_error(call, "network", f"{told}. Is the server running?")
            case _:
                return _make_error(call, "network", reason_of(error, secrets_of(call).clean))


_ACCEPTED = "accept-encoding"
_MAX_HEADER_BYTES = 64 * 1024
_UNREADABLE = "its response has an unsupported compression"
_WEB_PAGE = "its response is a web page, not a stream. Is this the address of the API?"


def _check(call: HTTPCall) -> None:
    """Refuse headers that cannot be sent. A key from a file often ends with a line break."""
    for name, value in call.headers.items():
        if any(char in value for char in "\r\n\0"):
            raise UsageError(f"the header {name} holds a line break: expected a single line")


def _new_session(timeouts: Timeouts, tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        # A stream keeps its connection for minutes; the caller decides how many there are.
        connector=create_connector(tls),
        timeout=aiohttp.ClientTimeout(total=None, connect=timeouts.connect_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        # Logins from ~/.netrc would replace the key.
        trust_env=False,
        trace_configs=[_trace_reuse()],
        # Some gateways describe their policies in a single header of more than 8 KB.
        max_line_size=_MAX_HEADER_BYTES,
        max_field_size=_MAX_HEADER_BYTES,
    )


class _ConnectionInfo:
    """Whether a request was sent on a connection that was used before."""

    is_reused = False


def _trace_reuse() -> aiohttp.TraceConfig:
    async def note(_session: object, context: SimpleNamespace, _params: object) -> None:
        context.trace_request_ctx.is_reused = True

    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(note)
    return config


def _make_error(
    call: HTTPCall, category: ErrorCategory, told: str, *, retryable: bool | None = None
) -> RequestFailed:
    if retryable is None:
        retryable = category in ("network", "timeout", "incomplete")
    text = secrets_of(call).clean(f"{address_of(call.url)}: {told}")
    return RequestFailed(text, category=category, retryable=retryable)


def _describe_page(call: HTTPCall, start: bytes) -> RequestFailed:
    """Return the error for a web page. The title of a gateway's error page names the error."""
    page = describe_body(start)
    if page is None or page.category == "protocol":
        return _make_error(call, "protocol", _WEB_PAGE)
    return _make_error(call, page.category, page.message, retryable=page.retryable)
