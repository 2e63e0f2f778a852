"""A proxy on loopback in front of one upstream: everything goes through as it is, and onto tape.

It is no proxy for anything else: the upstream is the only place that it ever asks.
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
from headrace.recording.exchange_recorder import Shelf, Tape
from headrace.transport.call_secrets import Secrets, address_of
from headrace.transport.http import unread
from headrace.transport.stream_error import reason_of
from headrace.transport.transport import HTTPCall

HOST = "127.0.0.1"
_CONNECT_S = 10.0
# Not 0: that would wait for ever.
_STOP_S = 0.05
_MAX_LINE_BYTES = 64 * 1024
# What two ends say to each other, and not to the ends behind them (RFC 9110, 7.6.1). What is
# recorded must be read again, so nothing compressed is asked for.
_HOP = frozenset(
    "connection proxy-connection keep-alive proxy-authenticate proxy-authorization te trailer"
    " transfer-encoding upgrade host expect".split()
)
_ASKED_ANEW = _HOP | {"accept-encoding"}
# What it logs of requests that are none may hold a key.
_QUIET = logging.getLogger("headrace.recording.proxy")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

RawHeaders = tuple[tuple[bytes, bytes], ...]
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Proxy:
    """Forwards requests to the `upstream`, an address without a path. `told` hears of every
    exchange that is over, and `complained` of those that never were one."""

    def __init__(
        self,
        upstream: str,
        shelf: Shelf,
        *,
        told: Callable[[Tape], None],
        complained: Callable[[str], None],
    ) -> None:
        self._upstream = upstream
        self._shelf = shelf
        self._told = told
        self._complained = complained
        self._is_closing = False
        self._runner: web.ServerRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    async def start(self, port: int = 0) -> int:
        """Listen, and return the port. Raises `UsageError` where it is taken."""
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
        """Let go of everything; what goes on is cut."""
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
        tape = Tape(self._shelf, request.method, url, _written(request.raw_headers))
        try:
            return await self._forwarded(request, url, tape)
        finally:
            tape.close("the recording was stopped" if self._is_closing else "the client left")
            if tape.status is not None:
                self._told(tape)

    def _refusal(self, request: web.BaseRequest) -> str | None:
        """Whom and what we are not there for. A page in a browser that was tricked into
        asking us has another host's name, or says where it is from."""
        if not request.raw_path.startswith("/"):
            return "refused a request for another server: this is a base_url, not a proxy for all"
        # Not 0.0.0.0: a page of another site may ask that, and some browsers let it.
        if not is_loopback(get_host(f"//{request.headers.get('Host', '')}")):
            return "refused a request for another host: ask 127.0.0.1"
        origin = request.headers.get("Origin")
        if origin is not None and not is_loopback(get_host(origin)):
            return "refused a page of another site"
        if "Upgrade" in request.headers and "websocket" in request.headers["Upgrade"].lower():
            return "refused a WebSocket: only requests with an answer are recorded"
        return None

    async def _forwarded(
        self, request: web.BaseRequest, url: str, tape: Tape
    ) -> web.StreamResponse:
        answer = await self._asked(request, url, tape)
        if isinstance(answer, str):
            self._complained(answer)
            return _problem(502, answer)
        async with answer:
            tape.begin(answer.status, answer.headers)
            return await self._answered(request, answer, tape)

    async def _asked(
        self, request: web.BaseRequest, url: str, tape: Tape
    ) -> aiohttp.ClientResponse | str:
        assert self._session is not None
        headers = [(n, v) for n, v in _written(request.raw_headers) if n.lower() not in _ASKED_ANEW]
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        try:
            return await self._session.request(
                request.method,
                # Encoded: not a byte of it is written in another way.
                URL(url, encoded=True),
                headers=[*headers, ("Accept-Encoding", "identity")],
                data=_body(request, tape) if request.body_exists else None,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            call = HTTPCall(url=url, headers=dict(request.headers), body=b"")
            told = reason_of(error, Secrets(call).clean)
            return f"{address_of(url)} cannot be reached: {told}"

    async def _answered(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, tape: Tape
    ) -> web.StreamResponse:
        out = web.StreamResponse(status=answer.status, reason=answer.reason)
        for name, value in _written(answer.raw_headers):
            if name.lower() not in _HOP:
                out.headers.add(name, value)
        await out.prepare(request)
        try:
            broken = await _passed(answer, out, tape)
        except ConnectionResetError:
            tape.close("the client left")
            return out
        if broken is None:
            await out.write_eof()
            tape.close()
        else:
            # The client must see that it broke: an answer that is ended would look whole.
            tape.close(f"broken off: {broken}")
            if request.transport is not None:
                request.transport.close()
        return out


def _written(headers: RawHeaders) -> list[tuple[str, str]]:
    """As they were written: the client would change the case of names that it knows."""
    return [(name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in headers]


async def _body(request: web.BaseRequest, tape: Tape) -> AsyncIterator[bytes]:
    async for read in request.content.iter_any():
        tape.ask(read)
        yield read


async def _passed(
    answer: aiohttp.ClientResponse, out: web.StreamResponse, tape: Tape
) -> str | None:
    """All reads; returns what broke them off, if something did."""
    content = answer.content
    while True:
        try:
            read = await content.readany()
            broken = None
        except (aiohttp.ClientError, OSError) as error:
            read = unread(content)
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
