"""A recording proxy on loopback in front of one upstream server.

Requests pass unchanged. The upstream is the only server that is ever contacted.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Callable

import aiohttp
import msgspec
from aiohttp import web
from yarl import URL

from headrace.address import get_host, is_loopback
from headrace.errors import UsageError
from headrace.recording.exchange_recorder import ExchangeRecorder, RecordingFolder
from headrace.transport.call_secrets import address_of, secrets_of
from headrace.transport.http_stream import take_unread
from headrace.transport.stream_error import reason_of
from headrace.transport.transport import HTTPCall

HOST = "127.0.0.1"
_CONNECT_S = 10.0
# Not 0, which would mean no timeout.
_STOP_S = 0.05
_MAX_LINE_BYTES = 64 * 1024
# Hop-by-hop headers (RFC 9110, 7.6.1). No compression is requested, so that recordings are
# readable.
_HOP = frozenset(
    "connection proxy-connection keep-alive proxy-authenticate proxy-authorization te trailer"
    " transfer-encoding upgrade host expect".split()
)
_ASKED_ANEW = _HOP | {"accept-encoding"}
# Its log lines about invalid requests may hold a key.
_QUIET = logging.getLogger("headrace.recording.proxy")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

RawHeaders = tuple[tuple[bytes, bytes], ...]
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Proxy:
    """Forwards requests to `upstream`, an address without a path.

    `on_exchange` is called after every exchange, `on_refused` for requests that were refused.
    """

    def __init__(
        self,
        upstream: str,
        shelf: RecordingFolder,
        *,
        on_exchange: Callable[[ExchangeRecorder], None],
        on_refused: Callable[[str], None],
    ) -> None:
        self._upstream = upstream
        self._shelf = shelf
        self._on_exchange = on_exchange
        self._complained = on_refused
        self._is_closing = False
        self._runner: web.ServerRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    async def start(self, port: int = 0) -> int:
        """Listen, and return the port. Raises `UsageError` if the port is taken."""
        listener = _listening(port)
        server = web.Server(
            self._handle,
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            logger=_QUIET,
            max_line_size=_MAX_LINE_BYTES,
            max_field_size=_MAX_LINE_BYTES,
        )
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=_AUTOMATIC,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=_STOP_S)
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()
        return int(listener.getsockname()[1])

    async def aclose(self) -> None:
        """Stop, cutting off what is running."""
        self._is_closing = True
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        refusal = self._refusal(request)
        if refusal is not None:
            self._complained(refusal)
            return _problem(403, refusal)
        url = self._upstream + request.raw_path
        tape = ExchangeRecorder(self._shelf, request.method, url, _as_written(request.raw_headers))
        try:
            return await self._forward(request, url, tape)
        finally:
            tape.close("the recording was stopped" if self._is_closing else "the client left")
            if tape.status is not None:
                self._on_exchange(tape)

    def _refusal(self, request: web.BaseRequest) -> str | None:
        """Return why a request is refused, or None.

        A browser page that was tricked into calling the proxy has another host name, or sends an
        Origin.
        """
        if not request.raw_path.startswith("/"):
            return "refused a request for another server: this is a base_url, not a proxy for all"
        # Not 0.0.0.0: some browsers let pages of other sites use it.
        if not is_loopback(get_host(f"//{request.headers.get('Host', '')}")):
            return "refused a request for another host: ask 127.0.0.1"
        origin = request.headers.get("Origin")
        if origin is not None and not is_loopback(get_host(origin)):
            return "refused a page of another site"
        if "Upgrade" in request.headers and "websocket" in request.headers["Upgrade"].lower():
            return "refused a WebSocket: only requests with an answer are recorded"
        return None

    async def _forward(
        self, request: web.BaseRequest, url: str, tape: ExchangeRecorder
    ) -> web.StreamResponse:
        answer = await self._send(request, url, tape)
        if isinstance(answer, str):
            self._complained(answer)
            return _problem(502, answer)
        async with answer:
            tape.begin(answer.status, answer.headers)
            return await self._respond(request, answer, tape)

    async def _send(
        self, request: web.BaseRequest, url: str, tape: ExchangeRecorder
    ) -> aiohttp.ClientResponse | str:
        assert self._session is not None
        headers = [
            (n, v) for n, v in _as_written(request.raw_headers) if n.lower() not in _ASKED_ANEW
        ]
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        try:
            return await self._session.request(
                request.method,
                # Already encoded, so that no byte is changed.
                URL(url, encoded=True),
                headers=[*headers, ("Accept-Encoding", "identity")],
                data=_body(request, tape) if request.body_exists else None,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            call = HTTPCall(url=url, headers=dict(request.headers), body=b"")
            told = reason_of(error, secrets_of(call).clean)
            return f"{address_of(url)} cannot be reached: {told}"

    async def _respond(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, tape: ExchangeRecorder
    ) -> web.StreamResponse:
        out = web.StreamResponse(status=answer.status, reason=answer.reason)
        for name, value in _as_written(answer.raw_headers):
            if name.lower() not in _HOP:
                out.headers.add(name, value)
        await out.prepare(request)
        try:
            broken = await _forward_reads(answer, out, tape)
        except ConnectionResetError:
            tape.close("the client left")
            return out
        if broken is None:
            await out.write_eof()
            tape.close()
        else:
            # The client must notice the break: a response that ends normally would look complete.
            tape.close(f"broken off: {broken}")
            if request.transport is not None:
                request.transport.close()
        return out


def _as_written(headers: RawHeaders) -> list[tuple[str, str]]:
    """Return the headers as written; the client would change the case of known names."""
    return [(name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in headers]


async def _body(request: web.BaseRequest, tape: ExchangeRecorder) -> AsyncIterator[bytes]:
    async for read in request.content.iter_any():
        tape.ask(read)
        yield read


async def _forward_reads(
    answer: aiohttp.ClientResponse, out: web.StreamResponse, tape: ExchangeRecorder
) -> str | None:
    """Forward all reads. Return the error that broke them off, or None."""
    content = answer.content
    while True:
        try:
            read = await content.readany()
            broken = None
        except (aiohttp.ClientError, OSError) as error:
            read = take_unread(content)
            broken = reason_of(error)
        if read:
            tape.feed(read)
            await out.write(read)
        if broken is not None or not read:
            return broken


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise UsageError(f"cannot listen on {HOST}:{port}: {why}") from None
    return listener


def _problem(status: int, message: str) -> web.Response:
    error = {"type": "headrace_record", "message": f"headrace record: {message}"}
    body = msgspec.json.encode({"error": error})
    return web.Response(status=status, body=body, content_type="application/json")
