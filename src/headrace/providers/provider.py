"""One row of the catalog: all that is known about a provider, as data."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from headrace.encoders.chat.quirks import DEFAULT_REQUEST_QUIRKS, ChatRequestQuirks
from headrace.wire.dialects.chat import DEFAULT_QUIRKS, ChatQuirks

Auth: TypeAlias = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "none"]
"""Where the key goes: `Authorization: Bearer`, or the header of that name."""


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """Address and key are data, field names and words are data; only a grammar is code."""

    name: str
    title: str
    dialect: str
    base_url: str | None
    """None: the user must give it (`base_url=`, or `base_url_variable`)."""
    path: str
    """Joined to the base; `{model}` is replaced."""
    framing: str = "sse"
    transport: Literal["http", "grpc", "rehearsal"] = "http"
    """How it is reached. gRPC needs the extra `xai`; a rehearsal is played on the spot."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, in order; none: no key is needed."""
    base_url_variable: str | None = None
    default_port: int | None = None
    """For a server whose address is often given as a host alone."""
    auth: Auth = "bearer"
    headers: dict[str, str] = {}
    quirks: ChatQuirks = DEFAULT_QUIRKS
    """How its chat streams differ; other grammars have no quirks."""
    request_quirks: ChatRequestQuirks = DEFAULT_REQUEST_QUIRKS
    """How its chat requests differ."""
    source: str = ""
    """Where these facts are from."""

    @property
    def is_rehearsal(self) -> bool:
        """Whether it is the stand-in, which is said wherever it shows."""
        return self.transport == "rehearsal"
