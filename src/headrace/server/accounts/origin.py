"""Where a request comes from: the page of this server, another site, or a program."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def is_foreign(headers: Headers) -> bool:
    """Return whether a browser says that the request comes from another origin, be it another site
    or a sibling such as another subdomain or port."""
    origin = headers.get("origin")
    if origin is not None and _origin_host(origin) != headers.get("host", ""):
        return True
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def is_from_page(request: HTTPConnection) -> bool:
    """Return whether a request can come from the page of this server, so that what the browser adds
    by itself, such as a cookie, may count.

    Without any word of the browser it is believed only for requests that change nothing: a browser
    names the origin of all others, and of every WebSocket.
    """
    headers = request.headers
    if is_foreign(headers):
        return False
    if request.scope["type"] == "http" and request.scope["method"] in SAFE_METHODS:
        return True
    return "origin" in headers or headers.get("sec-fetch-site") == "same-origin"


def host_name(host: str) -> str:
    """Return a `Host` header without its port."""
    name, bracket, _ = host.partition("]") if host.startswith("[") else host.partition(":")
    return (name + "]" if bracket == "]" else name).lower()


def is_loopback_host(host: str) -> bool:
    """Return whether a `Host` header names this machine."""
    return host_name(host) in _LOOPBACK


def _origin_host(origin: str) -> str | None:
    """Return host and port of an `Origin` header, or None if it is malformed."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
