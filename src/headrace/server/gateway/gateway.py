"""`Gateway`: finds the model that a client asks for, and checks what its user may use."""

from __future__ import annotations

import os
from collections.abc import Mapping

from headrace.encoders import Options, parse_options
from headrace.errors import UsageError
from headrace.providers import CATALOG
from headrace.server.gateway.config import GatewayConfig, GatewayProvider, Grant
from headrace.server.gateway.offer import GatewayOffer
from headrace.server.storage.access_tokens import User, token_id_of
from headrace.server.storage.usage.limits import UsageLimits
from headrace.transport.retry import RetryPolicy
from headrace.transport.transport import Transport
from headrace.turn.fallback import Fallback, FallbackEntry
from headrace.turn.model import Model, model_for

# Clients choose the names of models, so only some are remembered.
_MAX_REMEMBERED = 256
_DEFAULT_PROVIDER = GatewayProvider()


class Gateway:
    """The models of a gateway file. Raises `UsageError` for one that cannot be asked."""

    def __init__(
        self,
        config: GatewayConfig,
        *,
        environ: Mapping[str, str] | None = None,
        transport: Transport | None = None,
    ) -> None:
        self.config = config
        self._environ = os.environ if environ is None else environ
        self._transports: dict[str, Transport] = {}
        self._own_transport = transport
        unknown = sorted(config.providers.keys() - CATALOG.keys())
        if unknown:
            raise UsageError(
                f"no provider {unknown[0]!r}: `headrace providers` lists those that exist"
            )
        self._offers: dict[str, GatewayOffer] = {}
        for name, entry in config.models.items():
            models = (entry.model, *entry.fallback)
            self._offers[name] = self._create(name, models, parse_options(entry.options))
        self._open_offers: dict[str, GatewayOffer] = {}

    def names(self, user: User) -> list[str]:
        """Return the names that a user may ask for, without those of open providers."""
        return [name for name in self._offers if self._may_use(user, name)]

    def find(self, user: User, name: str) -> GatewayOffer | None:
        """Return the model under a name, or None if there is none or the user may not use it."""
        if not self._may_use(user, name):
            return None
        offer = self._offers.get(name) or self._open_offers.get(name)
        return offer or self._find_open(name)

    def limits_of(self, user: User) -> UsageLimits:
        """Return the limits of a user."""
        grant = self._grant_of(user)
        return self.config.limits if grant.limits is None else grant.limits

    async def aclose(self) -> None:
        """Close all connections to providers."""
        for transport in self._transports.values():
            await transport.aclose()

    def _find_open(self, name: str) -> GatewayOffer | None:
        """Return a model of a provider whose models can all be asked for, or None."""
        provider, _, model = name.partition(":")
        settings = self.config.providers.get(provider)
        if settings is None or not settings.is_open:
            return None
        if ".." in model.split("/"):
            # The name is part of some addresses, and must not lead to another one.
            return None
        try:
            offer = self._create(name, (name,), Options())
        except UsageError:
            return None
        if len(self._open_offers) >= _MAX_REMEMBERED:
            self._open_offers.pop(next(iter(self._open_offers)))
        self._open_offers[name] = offer
        return offer

    def _create(self, name: str, models: tuple[str, ...], options: Options) -> GatewayOffer:
        entries = [self._create_entry(model) for model in models]
        return GatewayOffer(name, Fallback(*entries), options)

    def _create_entry(self, name: str) -> FallbackEntry:
        provider = name.partition(":")[0]
        settings = self.config.providers.get(provider, _DEFAULT_PROVIDER)
        api_key = None
        if settings.api_key_env is not None:
            api_key = self._environ.get(settings.api_key_env)
            if not api_key:
                raise UsageError(f"{settings.api_key_env} is not set: it is the key for {provider}")
        shared = self._own_transport or self._transports.get(provider)
        model = model_for(
            name,
            base_url=settings.base_url,
            api_key=api_key,
            transport=shared,
            timeout=None if shared is not None else settings.timeout_s,
        )
        if shared is None:
            self._transports[provider] = model.transport
        policy = RetryPolicy(attempts=settings.attempts)
        return FallbackEntry(Model(model.endpoint, model.transport), policy=policy)

    def _may_use(self, user: User, name: str) -> bool:
        models = self._grant_of(user).models
        return models is None or name in models

    def _grant_of(self, user: User) -> Grant:
        """Return what a user may use: that of the access token, else that of the user."""
        token = None if user.token_hash is None else token_id_of(user.token_hash)
        own = self.config.tokens.get(token or "")
        return own or self.config.users.get(user.owner) or Grant()
