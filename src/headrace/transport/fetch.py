"""Fetches a URL that a stranger has named: one GET that only reaches the public internet.

The name is resolved once per hop, all its addresses are checked, and the socket is created for a
checked address, so that a second DNS answer changes nothing. The connected peer is checked again.
Nothing private is sent: no key, cookie, login or proxy.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from yarl import URL

from headrace.address import Address, is_public, parse_address
from headrace.errors import RequestFailed
from headrace.outcome import ErrorCategory
from headrace.transport.body.decompression import ENCODINGS, Inflation
from headrace.transport.stream_error import StreamBroken, reason_of

Allows: TypeAlias = Callable[[Address], bool]
Lookup: TypeAlias = Callable[[str, int], Awaitable[list[str]]]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_URL_CHARS = 2_048
_HEADERS = {
    "Accept": "text/html, application/xhtml+xml, application/json, text/*;q=0.9,"
    " application/xml;q=0.9",
    "Accept-Encoding": "identity",
    "User-Agent": "headrace-fetch",
}


class FetchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one fetch."""

    timeout_s: float = 20.0
    """Total time, including redirects."""
    max_bytes: int = 2 * 1024 * 1024
    """Size of the body after decompression."""
    max_redirects: int = 5
    """Number of redirects to follow."""


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A fetched page."""

    url: str
    """Final address, after redirects."""
    media_type: str
    """Media type from the server, without parameters."""
    charset: str | None
    """Character set from the server, if it names one."""
    body: bytes
    """The whole body, decompressed."""


DEFAULT_FETCH_LIMITS = FetchLimits()


async def fetch(
    url: str,
    *,
    limits: FetchLimits = DEFAULT_FETCH_LIMITS,
    allows: Allows = is_public,
    lookup: Lookup | None = None,
) -> Fetched:
    """GET a text from the public internet. Raises `RequestFailed`.

    `allows` decides about every address before it is connected. Change it only if everyone who can
    talk to the model may read from your network. `lookup` returns the addresses of a name.
    """
    visit = _Visit(limits, allows, lookup or _looked_up)
    try:
        async with asyncio.timeout(limits.timeout_s):
            fetched = await visit.follow(url)
    except TimeoutError:
        fetched = _make_error("timeout", f"no page within timeout_s={limits.timeout_s:g}")
    except _Forbidden as error:
        fetched = _make_error("permission", str(error))
    except StreamBroken as error:
        fetched = _make_error(error.error.category, error.error.message)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        fetched = visit.refusal or _make_error("network", reason_of(error))
    # Raised outside of the except block, so that the client's error is not chained.
    if isinstance(fetched, RequestFailed):
        raise fetched
    return fetched


class _Forbidden(OSError):
    """An address that is not allowed. It is an OSError, so that the client lets it through."""


class _Visit:
    """One fetch, hop by hop. No connection is reused."""

    def __init__(self, limits: FetchLimits, allows: Allows, lookup: Lookup) -> None:
        self._limits = limits
        self._allows = allows
        self._lookup = lookup
        self.refusal: RequestFailed | None = None

    async def follow(self, url: str) -> Fetched | RequestFailed:
        where = _checked_url(url)
        for _ in range(self._limits.max_redirects + 1):
            if isinstance(where, RequestFailed):
                return where
            async with (
                self._session() as session,
                session.get(where, headers=_HEADERS, allow_redirects=False) as response,
            ):
                target = response.headers.get("Location")
                if response.status not in _REDIRECTS or target is None:
                    return await self._read(where, response)
            where = _checked_url(target, where)
        return _make_error("protocol", f"more than max_redirects={self._limits.max_redirects}")

    def _session(self) -> aiohttp.ClientSession:
        connector = _Connector(
            self._check,
            resolver=_Resolver(self._resolve),
            use_dns_cache=False,
            force_close=True,
            socket_factory=self._socket,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    # -- checks of every name, socket and connection

    async def _resolve(self, host: str, port: int) -> list[str]:
        found = await self._lookup(host, port)
        for address in found:
            self._check(address)
        if not found:  # the client takes it for granted that there is one
            raise OSError("the name has no address")
        return found

    def _socket(self, info: Any) -> socket.socket:
        """Check the address right before connecting; addresses in the URL are only seen here."""
        family, kind, protocol, _, place = info
        self._check(str(place[0]))
        return socket.socket(family, kind, protocol)

    def _check(self, text: str) -> None:
        address = parse_address(text)
        if address is None or not self._allows(address):
            told = f"{text} is not an address of the public internet"
            self.refusal = _make_error("permission", told)
            raise _Forbidden(told)

    # -- the response

    async def _read(self, where: URL, response: aiohttp.ClientResponse) -> Fetched | RequestFailed:
        if not 200 <= response.status < 300:
            category: ErrorCategory = "not_found" if response.status in (404, 410) else "unknown"
            return _make_error(category, f"the server says {response.status}", response.status)
        media_type = response.content_type.lower()
        if "Content-Type" not in response.headers or not _is_text(media_type):
            told = response.headers.get("Content-Type", "nothing said")[:100]
            return _make_error("protocol", f"expected text, HTML, JSON or XML; got {told}")
        body = await self._body(response)
        if isinstance(body, RequestFailed):
            return body
        return Fetched(url=str(where), media_type=media_type, charset=response.charset, body=body)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes | RequestFailed:
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in {"", "identity", *ENCODINGS}:
            return _make_error("protocol", "the page has an unsupported compression")
        most = self._limits.max_bytes
        too_large = _make_error("protocol", f"the page passes max_bytes={most}")
        if (response.content_length or 0) > most:
            return too_large
        inflation = Inflation(encoding, most) if encoding in ENCODINGS else None
        pieces: list[bytes] = []
        size = 0
        async for read in response.content.iter_any():
            for piece in inflation.feed(read) if inflation else (read,):
                size += len(piece)
                pieces.append(piece)
            if size > most:
                return too_large
        if inflation:
            inflation.close()
        return b"".join(pieces)


class _Connector(aiohttp.TCPConnector):
    """Checks the connected peer before a request is sent."""

    def __init__(self, check: Callable[[str], None], **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._check = check

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        try:
            transport = connection.transport
            peer = None if transport is None else transport.get_extra_info("peername")
            self._check(str(peer[0]) if peer else "an unknown address")
        except BaseException:
            connection.close()
            raise
        return connection


class _Resolver(AbstractResolver):
    """Returns addresses that have been checked already."""

    def __init__(self, resolve: Lookup) -> None:
        self._resolve = resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._resolve(host, port)
        ]

    async def close(self) -> None:
        """Do nothing: no resources are kept."""


async def _looked_up(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def _checked_url(text: str, base: URL | None = None) -> URL | RequestFailed:
    """Return the URL as the client itself parses it; two parsers might see two hosts."""
    if len(text) > _MAX_URL_CHARS:
        return _make_error("invalid_request", f"the address is longer than {_MAX_URL_CHARS}")
    if any(char in "\\\t\r\n" or not char.isprintable() for char in text):
        return _make_error("invalid_request", "the address has invalid characters")
    try:
        url = URL(text.strip()) if base is None else base.join(URL(text.strip()))
        has_port = url.port is not None
    except ValueError:
        return _make_error("invalid_request", "that is not an address")
    if url.scheme not in ("http", "https") or not url.host or not has_port:
        return _make_error("invalid_request", "expected an http or https address with a host")
    if url.user is not None or url.password is not None:
        return _make_error("invalid_request", "the address contains a login: leave it out")
    return url.with_fragment(None)


def _is_text(media_type: str) -> bool:
    kind, _, rest = media_type.partition("/")
    return kind == "text" or (
        kind == "application"
        and (rest in ("json", "xml", "x-ndjson") or rest.endswith(("+json", "+xml")))
    )


def _make_error(category: ErrorCategory, told: str, status: int | None = None) -> RequestFailed:
    is_passing = category in ("network", "timeout")
    return RequestFailed(told, category=category, status=status, retryable=is_passing)
