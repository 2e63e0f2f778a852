"""`Model`: the endpoint, encoder, decoder and transport of one model."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

import msgspec

from headrace.content import ImageContent
from headrace.encoders import (
    DIALECTS_WITH_TOOLS,
    ENDPOINT_ENCODERS,
    REQUEST_ENCODERS,
    Request,
    merge_body,
)
from headrace.encoders.anthropic.provider_tool import find_betas
from headrace.encoders.provider_tool import refuse
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import PromptEntry, history
from headrace.providers import CATALOG, Endpoint, Provider, resolve
from headrace.transport.limits import DEFAULT_TIMEOUTS, Timeouts
from headrace.transport.transport import HTTPCall, Transport
from headrace.wire.decoder import Decoder
from headrace.wire.dialects.chat import ChatQuirks
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

# Where each transport is made, and the extra to install for it. Imported only if it is used.
_TRANSPORTS: Mapping[str, tuple[str, str, str]] = {
    "http": ("headrace.transport.http", "HTTPTransport", "http"),
    "grpc": ("headrace.transport.grpc.transport", "GRPCTransport", "xai"),
    "rehearsal": ("headrace.rehearsal.model", "rehearsal_transport", ""),
}


class Model:
    """An endpoint and the transport that reaches it."""

    def __init__(
        self, endpoint: Endpoint, transport: Transport, *, owns_transport: bool = False
    ) -> None:
        self.endpoint = endpoint
        self.transport = transport
        self.owns_transport = owns_transport

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self.endpoint.provider.name}:{self.endpoint.model}"

    @property
    def is_rehearsal(self) -> bool:
        """Whether the provider is the built-in rehearsal."""
        return self.endpoint.provider.is_rehearsal

    def call(self, request: Request) -> HTTPCall:
        """Encode a request. Raises `UsageError` for one that the provider does not support."""
        return encode_call(self.endpoint, request)

    def decoder(
        self,
        wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
        *,
        strict: bool = False,
        keeps_logprobs: bool = False,
        first_item: int = 0,
        first_part: int = 0,
    ) -> Decoder:
        """Return a new decoder for one turn."""
        provider = self.endpoint.provider
        quirks = provider.quirks
        if keeps_logprobs:
            quirks = msgspec.structs.replace(quirks, keeps_logprobs=True)
        return Decoder(
            provider.dialect,
            framing=provider.framing,
            provider=provider.name,
            model=self.endpoint.model,
            wire_limits=wire_limits,
            quirks=quirks,
            keeps_message=False,
            strict=strict,
            first_item=first_item,
            first_part=first_part,
        )

    async def aclose(self) -> None:
        """Close the transport if it was created for this model."""
        if self.owns_transport:
            await self.transport.aclose()


class NamedModel(Protocol):
    """Anything that stands for a model."""

    @property
    def name(self) -> str: ...
    @property
    def is_rehearsal(self) -> bool: ...


class SharedTransport:
    """The transport of the first model that needs one, shared with all later models. The entries
    of a fallback have one each, since they may be reached in different ways."""

    def __init__(self) -> None:
        self._transports: dict[int, Transport] = {}

    def share(self, model: Model, place: int = 0) -> Model:
        """Return the model with the shared transport of this entry, or unchanged if the user gave
        it one."""
        if not model.owns_transport:
            return model
        return Model(model.endpoint, self._transports.setdefault(place, model.transport))

    async def aclose(self) -> None:
        """Close the transports. The next model brings another one."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()


def model_for(
    model: str | Model,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    transport: Transport | None = None,
    quirks: ChatQuirks | None = None,
    timeout: float | Timeouts | None = None,
) -> Model:
    """Return the model for a model string. Raises `UsageError` if it cannot be reached, for
    `quirks` if its streams have none, and for a `timeout` if the transport has its own."""
    timeouts = _to_timeouts(timeout, has_transport=transport is not None or type(model) is Model)
    if isinstance(model, Model):
        if quirks is None:
            return model
        endpoint = _set_quirks(model.endpoint, quirks)
        return Model(endpoint, model.transport, owns_transport=model.owns_transport)
    endpoint = _set_quirks(resolve(model, base_url=base_url, api_key=api_key), quirks)
    if transport is not None:
        return Model(endpoint, transport)
    return Model(endpoint, _new_transport(endpoint.provider, timeouts), owns_transport=True)


def _to_timeouts(timeout: float | Timeouts | None, *, has_transport: bool) -> Timeouts | None:
    """Return the timeouts; a number is the most seconds for each wait."""
    if timeout is None:
        return None
    if has_transport:
        raise UsageError("a transport has its own timeouts: give them to it, not as timeout=")
    if isinstance(timeout, Timeouts):
        return timeout
    is_number = isinstance(cast("object", timeout), int | float)
    if not (is_number and timeout > 0):
        raise UsageError(f"timeout must be a number of seconds, more than 0; got {timeout!r}")
    return Timeouts(
        connect_s=min(timeout, DEFAULT_TIMEOUTS.connect_s), first_event_s=timeout, idle_s=timeout
    )


def _set_quirks(endpoint: Endpoint, quirks: ChatQuirks | None) -> Endpoint:
    """Return the endpoint with these quirks instead of those of the catalog."""
    if quirks is None:
        return endpoint
    provider = endpoint.provider
    if provider.dialect != "chat":
        raise UsageError(
            f"quirks are for chat streams, and {provider.title} sends {provider.dialect} streams:"
            " leave them out"
        )
    changed = msgspec.structs.replace(provider, quirks=quirks)
    return msgspec.structs.replace(endpoint, provider=changed)


def name_of(model: str | NamedModel) -> str:
    """Return `provider:model`."""
    return model if isinstance(model, str) else model.name


def is_rehearsal(model: str | NamedModel) -> bool:
    """Return whether the provider is the built-in rehearsal. False for an unknown provider."""
    if not isinstance(model, str):
        return model.is_rehearsal
    provider = CATALOG.get(model.partition(":")[0])
    return provider is not None and provider.is_rehearsal


def encode_body(provider: Provider, request: Request) -> JSONObject:
    """Encode a request as the JSON body that the provider expects. Raises `UsageError` for options
    and tools that it does not have."""
    if request.provider_tools and provider.dialect not in DIALECTS_WITH_TOOLS:
        raise refuse(request.provider_tools[0], provider.title)
    if provider.request_encoder is not None:
        body = ENDPOINT_ENCODERS[provider.request_encoder](request)
    else:
        body = REQUEST_ENCODERS[provider.dialect](request, provider.request_quirks)
    body = {name: value for name, value in body.items() if name not in provider.unsent_fields}
    if provider.betas_field is not None and (names := _find_betas(provider, request)):
        betas: Any = names
        for name in reversed(provider.betas_field.split(".")):
            betas = {name: betas}
        body = merge_body(body, betas)
    return merge_body(body, provider.body_fields)


def _find_betas(provider: Provider, request: Request) -> list[str]:
    return find_betas(request) if provider.dialect == "anthropic" else [*request.options.betas]


def encode_call(endpoint: Endpoint, request: Request) -> HTTPCall:
    """Encode a request as the HTTP call that is sent."""
    options = request.options
    fields = merge_body(encode_body(endpoint.provider, request), options.extra_body)
    headers = endpoint.headers | _create_request_headers(endpoint.provider, request)
    betas = _find_betas(endpoint.provider, request)
    if betas and endpoint.provider.betas_field is None:
        named = [headers.get("anthropic-beta"), *betas]
        headers = headers | {"anthropic-beta": ",".join(filter(None, named))}
    if options.extra_headers:
        headers = headers | {name.lower(): value for name, value in options.extra_headers.items()}
    body = msgspec.json.encode(fields)
    return HTTPCall(url=endpoint.url, headers=headers, body=body, sign=endpoint.sign)


def _create_request_headers(provider: Provider, request: Request) -> dict[str, str]:
    """Return the headers that depend on the conversation."""
    if provider.initiator_header is None and not provider.image_headers:
        return {}
    headers = dict(provider.image_headers) if _has_images(request) else {}
    if provider.initiator_header is not None:
        entries = history(request.messages)
        is_asked = bool(entries) and isinstance(entries[-1], PromptEntry)
        headers[provider.initiator_header] = "user" if is_asked else "agent"
    return headers


def _has_images(request: Request) -> bool:
    results = [result for m in request.messages for turn in m.turns for result in turn.results]
    contents = [*(m.content for m in request.messages), *(result.content for result in results)]
    return any(isinstance(entry, ImageContent) for content in contents for entry in content)


def _new_transport(provider: Provider, timeouts: Timeouts | None) -> Transport:
    module, name, extra = _TRANSPORTS[provider.transport]
    try:
        new = getattr(import_module(module), name)
        has_timeouts = timeouts is not None and not provider.is_rehearsal
        transport: Transport = new(timeouts=timeouts) if has_timeouts else new()
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is missing: install headrace[{extra}] to reach {provider.title}"
        ) from None
    return transport
