"""The cookie of a sign-in.

Its name begins with `__Host-`: browsers accept such a cookie only over https and from this very
host, so that neither a sibling domain nor a network can set one. At http://127.0.0.1 and
http://localhost not every browser keeps such a cookie, so there, and only there, it has a plain
name and no `Secure`.
"""

from __future__ import annotations

import secrets
from typing import Final

from starlette.datastructures import Headers

from headrace.server.accounts.origin import is_loopback_host

COOKIE: Final = "__Host-headrace"
"""Name of the cookie."""
LOOPBACK_COOKIE: Final = "headrace"
"""Name of the cookie if the page is opened from this machine."""
_PREFIX: Final = "hrs_"
_MAX_CHARS: Final = 100


def create_cookie() -> str:
    """Return a new random value."""
    return _PREFIX + secrets.token_urlsafe(32)


def read_cookie(headers: Headers) -> str | None:
    """Return the value of the cookie of a request, or None. If there is more than one, none of them
    counts: one may have been planted."""
    name = _name_for(headers)
    pairs = (pair.strip() for line in headers.getlist("cookie") for pair in line.split(";"))
    values = [value for key, _, value in (pair.partition("=") for pair in pairs) if key == name]
    if len(values) != 1 or not values[0].startswith(_PREFIX) or len(values[0]) > _MAX_CHARS:
        return None
    return values[0]


def format_cookie(headers: Headers, value: str, max_age_s: float) -> str:
    """Return the `Set-Cookie` header for the client that has sent these headers. A `max_age_s` of 0
    removes the cookie."""
    secure = "" if is_loopback_host(headers.get("host", "")) else "Secure; "
    return (
        f"{_name_for(headers)}={value}; Path=/; Max-Age={max_age_s:.0f}; {secure}HttpOnly;"
        " SameSite=Strict"
    )


def _name_for(headers: Headers) -> str:
    return LOOPBACK_COOKIE if is_loopback_host(headers.get("host", "")) else COOKIE
