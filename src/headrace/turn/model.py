"""A model that can be asked: where it is, how it is spoken to, and who carries the bytes."""

from __future__ import annotations

from collections.abc import Callable

from headrace.encoders import Request
from headrace.errors import UsageError
from headrace.providers import CATALOG, Endpoint, Provider, resolve
from headrace.transport.transport import HTTPCall, Transport
from headrace.turn.call import call_for
from headrace.wire.decoder import Decoder
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits


class Model:
    """An endpoint and the transport that reaches it. `name` is the model string."""

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

    def call(self, request: Request) -> HTTPCall:
        """The request in the provider's own JSON. Raises `UsageError` for what it cannot ask."""
        return call_for(self.endpoint, request)

    def decoder(
        self,
        wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
        *,
        first_item: int = 0,
        first_part: int = 0,
    ) -> Decoder:
        """A decoder for one turn of it."""
        provider = self.endpoint.provider
        return Decoder(
            provider.dialect,
            framing=provider.framing,
            provider=provider.name,
            wire_limits=wire_limits,
            quirks=provider.quirks,
            keeps_message=False,
            first_item=first_item,
            first_part=first_part,
        )

    async def aclose(self) -> None:
        """Close the transport, if it was made for this model."""
        if self.owns_transport:
            await self.transport.aclose()


class SharedTransport:
    """The transport of the first model that needs one, for all that follow it."""

    def __init__(self) -> None:
        self._transport: Transport | None = None

    def model(self, model: Model) -> Model:
        """The same model on the shared transport; itself, if it was given one by its user."""
        if not model.owns_transport:
            return model
        self._transport = self._transport or model.transport
        return Model(model.endpoint, self._transport)

    async def aclose(self) -> None:
        """Close it; the next model brings another."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()


def model_for(
    model: str | Model,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    transport: Transport | None = None,
) -> Model:
    """The model of a model string. Raises `UsageError` for one that cannot be reached."""
    if isinstance(model, Model):
        return model
    endpoint = resolve(model, base_url=base_url, api_key=api_key)
    if transport is not None:
        return Model(endpoint, transport)
    return Model(endpoint, _transport_for(endpoint.provider), owns_transport=True)


def name_of(model: str | Model) -> str:
    """`provider:model`, also of what is only named."""
    return model if isinstance(model, str) else model.name


def is_rehearsal(model: str | Model) -> bool:
    """Whether it is the stand-in, by its provider; what no provider is named for is not."""
    if isinstance(model, Model):
        return model.endpoint.provider.is_rehearsal
    provider = CATALOG.get(model.partition(":")[0])
    return provider is not None and provider.is_rehearsal


def _transport_for(provider: Provider) -> Transport:
    kind, extra = _TRANSPORTS[provider.transport]
    try:
        return kind()
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is missing: install headrace[{extra}] to reach {provider.title}"
        ) from None


def _http_transport() -> Transport:
    from headrace.transport.http import HTTPTransport

    return HTTPTransport()


def _grpc_transport() -> Transport:
    from headrace.transport.grpc.transport import GRPCTransport

    return GRPCTransport()


def _rehearsal_transport() -> Transport:
    from headrace.rehearsal.model import rehearsal_transport

    return rehearsal_transport()


_TRANSPORTS: dict[str, tuple[Callable[[], Transport], str]] = {
    "http": (_http_transport, "http"),
    "grpc": (_grpc_transport, "xai"),
    "rehearsal": (_rehearsal_transport, ""),
}
