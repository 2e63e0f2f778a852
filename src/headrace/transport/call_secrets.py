"""The secrets of a provider call: its key and login, taken from headers and address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from headrace.secrets.known import HIDDEN, KnownSecrets
from headrace.transport.transport import HTTPCall
from headrace.wire.json.value import as_list, as_object

SHOWN_HEADERS = frozenset(
    "accept accept-encoding content-type user-agent anthropic-version anthropic-beta openai-beta"
    " http-referer x-title".split()
)
"""Headers that may be shown; every other header counts as a secret."""

# Fields of a request body that hold a key, such as that of an MCP server.
_SECRET_QUERY = re.compile("key|token|secret|password", re.I)
_MIN_KEY_CHARS = 12
_SECRET_FIELD = re.compile("authorization|api[-_]?key|token|secret|password|cookie", re.I)
# As the system names the other end of a connection: ('127.0.0.1', 8000).
_SOCKET_ADDRESS = re.compile(r" ?\('[0-9a-fA-F.:%]{2,60}'(?:, \d{1,10}){1,3}\)")
_URL = re.compile(r"https?://[^\s'\"<>]+?(?=[:,;.)]*(?:\s|$|['\"<>]))")


def secrets_of(call: HTTPCall) -> KnownSecrets:
    """Return the secrets of a call: its hidden headers, login and query values."""
    return KnownSecrets(_secret_values(call))


def keys_of(call: HTTPCall) -> list[str]:
    """Return the API keys and passwords of a call, to be masked in what the provider sends.

    Other hidden headers do not count: their values may be ordinary words. Nor do values that are
    too short or too simple for a key, such as the `not-needed` of a local server.
    """
    values: list[str] = []
    for name, value in call.headers.items():
        if _SECRET_FIELD.search(name):
            values.append(value.strip().rpartition(" ")[2])
    with suppress(ValueError):
        parts = urlsplit(call.url)
        values += [unquote(one) for one in parts.netloc.rpartition("@")[0].split(":")]
        values += [value for name, value in parse_qsl(parts.query) if _SECRET_QUERY.search(name)]
    return [value for value in dict.fromkeys(values) if _is_key(value)]


def _is_key(value: str) -> bool:
    has_digit = any(character.isdigit() for character in value)
    return len(value) >= (_MIN_KEY_CHARS if has_digit else 2 * _MIN_KEY_CHARS)


def address_of(url: str) -> str:
    """Return the address without user, query and fragment, which may hold a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def hide_address(text: str, url: str) -> str:
    """Return an error message without the address of the provider, which may be a private one."""
    netloc = urlsplit(url).netloc.rpartition("@")[2]
    for part in (address_of(url), f"{urlsplit(url).scheme}://{netloc}", netloc):
        text = text.replace(part, "the provider") if part else text
    return _SOCKET_ADDRESS.sub("", text)


def hide_addresses(text: str) -> str:
    """Return an error message without any address; see `hide_address()`."""
    for url in _URL.findall(text):
        text = hide_address(text, url)
    return text


def shown_headers(call: HTTPCall) -> dict[str, str]:
    """Return the headers that may be shown or recorded."""
    return {name: value for name, value in call.headers.items() if name.lower() in SHOWN_HEADERS}


def without_secrets(value: Any) -> Any:
    """Return a JSON value in which fields named like a key or password are replaced."""
    if isinstance(value, dict):
        return {
            name: _field(name, inner) for name, inner in as_object(cast("object", value)).items()
        }
    if isinstance(value, list):
        return [without_secrets(inner) for inner in as_list(cast("object", value))]
    return value


def recordable_body(body: bytes) -> Any:
    """Return a request body as it may be recorded; a body that is not JSON becomes its length."""
    try:
        return without_secrets(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return f"{len(body)} bytes that are no JSON"


def _field(name: str, value: Any) -> Any:
    if isinstance(value, str) and _SECRET_FIELD.search(name):
        return HIDDEN
    return without_secrets(value)


def _secret_values(call: HTTPCall) -> Iterator[str]:
    for name, value in call.headers.items():
        if name.lower() not in SHOWN_HEADERS:
            # In `Bearer KEY`, a server may echo the key alone.
            yield from (value, value.strip(), value.strip().rpartition(" ")[2])
    try:
        parts = urlsplit(call.url)
    except ValueError:
        return
    user = parts.netloc.rpartition("@")[0]
    written = [part.partition("=")[2] for part in parts.query.split("&")]
    read = [value for _, value in parse_qsl(parts.query)]
    yield from (user, *user.split(":"), *map(unquote, user.split(":")), *written, *read)
