"""What of a call may be seen: everything else is a secret, and taken out of any text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from headrace.secrets.scrub import scrub
from headrace.transport.transport import HTTPCall
from headrace.wire.json.value import as_list, as_object

SHOWN_HEADERS = frozenset(
    "accept accept-encoding content-type user-agent anthropic-version anthropic-beta openai-beta"
    " http-referer x-title".split()
)
"""A header that is not named here is taken for a secret."""

HIDDEN = "[secret]"
"""What stands in the place of a secret, in a text."""

# Shorter values, such as the key "none" of a local server, are words of any message.
_MIN_SECRET_CHARS = 8
# Fields of a request body that hold a key, such as those of an MCP server.
_SECRET_FIELD = re.compile("authorization|api[-_]?key|token|secret|password|cookie", re.I)


class Secrets:
    """The secrets of one call; `hide` takes them out of a text."""

    def __init__(self, call: HTTPCall) -> None:
        found = {value for value in _secrets_of(call) if len(value) >= _MIN_SECRET_CHARS}
        # The longest first: one may be a part of another.
        self._values = sorted(found, key=len, reverse=True)
        self._encoded = sorted((value.encode() for value in found), key=len, reverse=True)

    @property
    def longest_bytes(self) -> int:
        """Of the longest of them; 0 where there are none."""
        return len(self._encoded[0]) if self._encoded else 0

    def hide(self, text: str) -> str:
        """The text without them, as long as it is."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return text

    def mask(self, data: bytes) -> bytes:
        """Bytes without them, of the same length."""
        for secret in self._encoded:
            data = data.replace(secret, b"*" * len(secret))
        return data

    def mask_all(self, data: bytes) -> bytes:
        """Bytes that end here, without them and without the beginning of one at their end."""
        cut = len(data) - self._begun_bytes(data)
        return self.mask(data)[:cut] + b"*" * (len(data) - cut)

    def _begun_bytes(self, data: bytes) -> int:
        """How much of the end is the beginning of a secret; less than a secret has is nothing."""
        longest = min(len(data), self.longest_bytes - 1)
        for size in range(longest, _MIN_SECRET_CHARS - 1, -1):
            end = data[-size:]
            if any(secret.startswith(end) for secret in self._encoded):
                return size
        return 0

    def clean(self, text: str) -> str:
        """Fit for an error: without them, without whatever looks like a key, and capped."""
        return self.hide(scrub(self.hide(text)))


def address_of(url: str) -> str:
    """The address without a user, a query or a fragment, which may hold a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def shown_headers(call: HTTPCall) -> dict[str, str]:
    """The headers that may be written down."""
    return {name: value for name, value in call.headers.items() if name.lower() in SHOWN_HEADERS}


def without_secrets(value: Any) -> Any:
    """A JSON value whose fields that are named like a key's hold none."""
    if isinstance(value, dict):
        return {
            name: _field(name, inner) for name, inner in as_object(cast("object", value)).items()
        }
    if isinstance(value, list):
        return [without_secrets(inner) for inner in as_list(cast("object", value))]
    return value


def told_body(body: bytes) -> Any:
    """A request's body as it may be written down: of one that is no JSON, its length."""
    try:
        return without_secrets(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return f"{len(body)} bytes that are no JSON"


def _field(name: str, value: Any) -> Any:
    if isinstance(value, str) and _SECRET_FIELD.search(name):
        return HIDDEN
    return without_secrets(value)


def _secrets_of(call: HTTPCall) -> Iterator[str]:
    for name, value in call.headers.items():
        if name.lower() not in SHOWN_HEADERS:
            # `Bearer KEY`: what comes back may be the key alone.
            yield from (value, value.strip(), value.strip().rpartition(" ")[2])
    try:
        parts = urlsplit(call.url)
    except ValueError:
        return
    user = parts.netloc.rpartition("@")[0]
    written = [part.partition("=")[2] for part in parts.query.split("&")]
    read = [value for _, value in parse_qsl(parts.query)]
    yield from (user, *user.split(":"), *map(unquote, user.split(":")), *written, *read)
