"""The row type of the catalog: everything that is known about a provider, as data."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.encoders.chat.quirks import DEFAULT_REQUEST_QUIRKS, ChatRequestQuirks
from headrace.wire.dialects.chat import DEFAULT_QUIRKS, ChatQuirks

Auth: TypeAlias = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "aws", "none"]
"""Where the key goes: `Authorization: Bearer`, or the header of that name. `aws` is a bearer token,
or without a key a signature with AWS credentials."""


OutputMode: TypeAlias = Literal["native", "tool", "prompt"]
"""How a typed answer is asked for: by the provider's own option for a JSON schema, as the arguments
of a tool, or by a schema in the instructions."""


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the catalog: everything that is known about a provider, as data."""

    name: str
    """Name before the colon of a model string."""
    title: str
    """Display name."""
    dialect: str = "chat"
    """Dialect of its requests and streams."""
    request_encoder: str | None = None
    """Name of the encoder of its requests in `ENDPOINT_ENCODERS`, if it is not that of the
    dialect."""
    base_url: str | None = None
    """Base address, or None if the user must give it (`base_url=`, or `base_url_variable`)."""
    path: str = "/chat/completions"
    """Path that is joined to the base address. `{model}` is replaced."""
    framing: str = "sse"
    """Framing of its streams."""
    transport: Literal["http", "grpc", "rehearsal"] = "http"
    """How the provider is reached. gRPC needs the extra `xai`; a rehearsal runs in process."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, in order; empty if no key is needed."""
    base_url_variable: str | None = None
    """Environment variable that may hold another base address."""
    region_variables: tuple[str, ...] = ()
    """Environment variables that may hold the region, which replaces `{region}` in the base
    address."""
    default_port: int | None = None
    """Port of a server whose address is often given as a host alone."""
    auth: Auth = "bearer"
    """Where the key goes: a bearer token, a header of that name, or nowhere."""
    identity: Literal["google", "azure"] | None = None
    """The cloud whose own login is used if there is no key. Needs the extra of that name."""
    headers: dict[str, str] = {}
    """Headers that it needs besides the key."""
    image_headers: dict[str, str] = {}
    """Headers that it needs besides those for requests with images."""
    initiator_header: str | None = None
    """Header that says who caused a request: the `user`, or an `agent` that goes on after tools.
    GitHub Copilot charges by it."""
    body_fields: dict[str, Any] = {}
    """Fields that it needs in the body of every request."""
    unsent_fields: tuple[str, ...] = ()
    """Fields of its dialect's requests that it does not take, because the address has them."""
    betas_field: str | None = None
    """Field of the body for beta features, if it does not read Anthropic's header. A dot separates
    the names of nested fields."""
    quirks: ChatQuirks = DEFAULT_QUIRKS
    """How its chat streams differ. Other dialects have no quirks."""
    request_quirks: ChatRequestQuirks = DEFAULT_REQUEST_QUIRKS
    """How its chat requests differ."""
    output_mode: OutputMode = "native"
    """How typed answers are asked for."""
    output_mode_with_tools: OutputMode | None = None
    """How typed answers are asked for beside tools, if that differs: some servers refuse a schema
    and tools in one request."""
    forces_tools: bool = True
    """Whether a request may force the model to call a tool, also while it thinks."""
    verified: Literal["recorded", "documented", "assumed"] = "assumed"
    """Evidence for these facts: a recorded stream of this provider that decodes exactly, the
    provider's own documentation, or neither."""
    source: str = ""
    """Where these facts come from."""

    @property
    def is_rehearsal(self) -> bool:
        """Whether it is the rehearsal stand-in, which the UI must show."""
        return self.transport == "rehearsal"
