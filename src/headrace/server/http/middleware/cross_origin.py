"""Pages of other sites: which origins may use the server, and the headers that tell a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response

_EXPOSED: Final = "x-event-id, x-conversation-id, x-parent-id, x-request-id, retry-after"
_MAX_AGE_S: Final = 3600


class CrossOrigin:
    """The origins whose pages may use the server. Without any, no header is ever sent."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._origins = frozenset(origins)

    def allows(self, headers: Headers) -> bool:
        """Return whether a request comes from a page of an allowed origin."""
        return headers.get("origin") in self._origins

    def response_headers(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """Return what a browser must be told before a page may read the response."""
        if not self._origins:
            return []
        vary = [(b"vary", b"origin")]
        if not self.allows(headers):
            return vary
        return [
            *vary,
            (b"access-control-allow-origin", headers["origin"].encode("latin-1")),
            (b"access-control-expose-headers", _EXPOSED.encode()),
        ]

    def answer_preflight(self, method: str, headers: Headers) -> Response | None:
        """Return the response to a browser that asks whether a request is allowed, or None if it
        is another request."""
        is_asked = method == "OPTIONS" and "access-control-request-method" in headers
        if not is_asked or not self.allows(headers):
            return None
        answer = {
            "access-control-allow-methods": "GET, POST, PATCH, DELETE",
            "access-control-allow-headers": headers.get("access-control-request-headers", ""),
            "access-control-max-age": str(_MAX_AGE_S),
        }
        return Response(status_code=204, headers=answer)
