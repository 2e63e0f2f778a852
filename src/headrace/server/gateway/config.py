"""The file that describes a gateway: models, providers, users and their limits."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from headrace.errors import UsageError
from headrace.server.storage.usage.limits import UsageLimits


class GatewayModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model under a name of the operator."""

    model: str
    """The model, as `provider:model`."""
    fallback: tuple[str, ...] = ()
    """Models to ask if the first cannot be reached, in this order."""
    options: dict[str, Any] = {}
    """Options for requests that do not set them, such as `max_tokens`."""


class GatewayProvider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a provider is reached."""

    api_key_env: str | None = None
    """The environment variable with the key; by default that of the provider."""
    base_url: str | None = None
    """The address; by default that of the provider."""
    timeout_s: float | None = None
    """Most seconds for the first event and for any pause."""
    attempts: int = 3
    """How often a request is sent, if the provider refuses it for the moment."""
    is_open: bool = False
    """Whether every model of the provider can be asked for, as `provider:model`."""


class Grant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a user or an access token may use."""

    models: tuple[str, ...] | None = None
    """Names that may be asked for, or None for all of them."""
    limits: UsageLimits | None = None
    """Limits instead of those for everybody."""


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gateway file."""

    models: dict[str, GatewayModel] = {}
    """Models by the names that clients use."""
    providers: dict[str, GatewayProvider] = {}
    """Providers by their names in the catalog."""
    limits: UsageLimits = UsageLimits()
    """Limits of every user."""
    users: dict[str, Grant] = {}
    """What is different for some users."""
    tokens: dict[str, Grant] = {}
    """What is different for some access tokens, by the ids that `headrace token list` prints."""


def read_gateway_config(path: Path) -> GatewayConfig:
    """Read a gateway file. Raises `UsageError` that says what is wrong with it."""
    try:
        config = msgspec.convert(tomllib.loads(path.read_text("utf-8")), GatewayConfig)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    if not config.models and not any(entry.is_open for entry in config.providers.values()):
        raise UsageError(
            f'{path} offers nothing: add a table [models.NAME] with model = "provider:model",'
            " or is_open = true to a provider"
        )
    return config
