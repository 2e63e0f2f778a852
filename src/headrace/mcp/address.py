"""Where an MCP server is: a command that is started, or a URL."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from headrace.errors import UsageError

MAX_LABEL_CHARS: Final = 32
_NOT_LABEL = re.compile(r"[^a-zA-Z0-9-]+")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RUNNERS = frozenset(
    {"python", "python3", "node", "npx", "uvx", "uv", "bunx", "deno", "run", "env"}
)


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The command or the URL of a server, with what is sent along."""

    argv: tuple[str, ...] = ()
    """The program and its arguments. They are never passed to a shell."""
    url: str | None = None
    headers: Mapping[str, str] = {}
    env: Mapping[str, str] = {}
    cwd: str | None = None

    def __repr__(self) -> str:
        """Return a text without arguments, headers and environment, which may hold secrets."""
        return f"ServerAddress({self.describe()!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Hide secrets in tracebacks that rich prints with local variables."""
        return [("server", self.describe())]

    def describe(self) -> str:
        """Return the program, or the scheme, host and port of the URL, for messages. Some services
        have a secret in the path, and some users write one in front of the host."""
        if self.url is None:
            return PurePath(self.argv[0]).name
        parts = urlsplit(self.url)
        try:
            port = "" if parts.port is None else f":{parts.port}"
        except ValueError:  # a part of a secret, perhaps
            port = ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be logged or shown."""
        values = [*self.headers.values(), *self.env.values()]
        if self.url is not None:
            parts = urlsplit(self.url)
            # Short parts of a path are words such as `mcp`.
            values += [parts.query, *(step for step in parts.path.split("/") if len(step) >= 16)]
        words = {word for value in values for word in (value, *value.split())}
        return tuple(sorted((word for word in words if len(word) >= 6), key=len, reverse=True))


def read_address(
    server: str | Sequence[str],
    headers: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> ServerAddress:
    """Return the address of a server: a URL, a command line, or a program with its arguments.

    A command line is split as a shell would split it, but no shell runs: `;`, `|` and `$(…)` are
    ordinary characters. Raises `UsageError` for an address that cannot be used.
    """
    if isinstance(server, str) and re.match(r"https?://", server, re.IGNORECASE):
        _check_url(server)
        if env or cwd:
            raise UsageError("env and cwd are for MCP servers that are started by a command")
        return ServerAddress(url=server, headers=_check_headers(headers or {}))
    if headers:
        raise UsageError("headers are for MCP servers with a URL")
    argv = _split(server) if isinstance(server, str) else tuple(map(str, server))
    if not argv or not argv[0].strip():
        raise UsageError("expected the command or the URL of an MCP server; got nothing")
    for text in (*argv, *(env or {}), *(env or {}).values(), cwd or ""):
        if "\0" in text:
            raise UsageError("the command of an MCP server must not contain NUL characters")
    for name in env or {}:
        if not name or "=" in name:
            raise UsageError(f"{name!r:.100} cannot be the name of an environment variable")
    return ServerAddress(argv=argv, env=dict(env or {}), cwd=cwd)


def derive_label(address: ServerAddress) -> str:
    """Return a short name for a server: that of its host, script or module."""
    if address.url is not None:
        words = [urlsplit(address.url).hostname or "server"]
    else:
        plain = [
            word
            for before, word in zip(("", *address.argv), address.argv, strict=False)
            # What follows a long option is its value, which may be a secret.
            if not word.startswith("-") and not before.startswith("--")
        ]
        words = [PurePath(word).stem for word in plain]
        words = [word for word in words if word and word not in _RUNNERS] or words
    return clean_label(words[0])


def clean_label(name: str) -> str:
    """Return a name that can be the prefix of a tool. Raises `UsageError` if nothing is left."""
    label = _NOT_LABEL.sub("-", name).strip("-")[:MAX_LABEL_CHARS].strip("-")
    if not label:
        raise UsageError(f"{name!r:.100} cannot be the name of an MCP server: use letters")
    return label


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"the command of an MCP server cannot be read: {error}") from None


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if not parts.hostname or any(ord(sign) <= 32 for sign in url):
        raise UsageError("the URL of an MCP server needs a host, and no spaces")
    if parts.username or parts.password:
        raise UsageError("the URL of an MCP server must not contain a password: use headers")


def _check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise UsageError(f"{name!r:.100} cannot be the name of a header")
        if any(sign in value for sign in "\r\n\0"):
            raise UsageError(f"the value of the header {name} must be one line")
    return dict(headers)
