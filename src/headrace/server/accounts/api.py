"""Requests and responses of the routes about accounts; see `api`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from headrace.encoders import Effort
from headrace.server.accounts.passwords import MAX_PASSWORD_CHARS
from headrace.server.storage.access_tokens import Carrier
from headrace.server.storage.accounts import Role

MAX_INSTRUCTIONS_CHARS = 8_000
"""Longest instructions of a user."""

_Password: TypeAlias = Annotated[str, Meta(max_length=MAX_PASSWORD_CHARS)]
_Name: TypeAlias = Annotated[str, Meta(max_length=200)]


class _Secret(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request whose fields are shown nowhere."""

    def __repr__(self) -> str:
        """Leave the fields out."""
        return f"{type(self).__name__}(…)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Leave the fields out."""
        return []


class SignInRequest(_Secret, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /api/sign-in`."""

    user: _Name
    """Name of the account."""
    password: _Password
    """Its password."""


class PasswordChange(_Secret, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /api/account/password`."""

    old: _Password
    """The password so far."""
    new: _Password
    """The new one."""


class SettingsUpdate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `PATCH /api/account/settings`: what changes. Null removes a setting."""

    theme: Literal["system", "light", "dark"] | UnsetType | None = UNSET
    """Colors of the page."""
    effort: Effort | UnsetType | None = UNSET
    """How hard the model should think, unless a question says otherwise."""
    model: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType | None = UNSET
    """The model that the page selects first."""
    instructions: Annotated[str, Meta(max_length=MAX_INSTRUCTIONS_CHARS)] | UnsetType | None = UNSET
    """Instructions for every question that the user asks through `/api/chat`, after those of the
    agent."""
    send_key: Literal["enter", "mod_enter"] | UnsetType | None = UNSET
    """The key that sends a message."""
    language: Literal["auto", "en", "zh"] | UnsetType | None = UNSET
    """Language of the page."""

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that change, with their values."""
        fields = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in fields if value is not UNSET}


class UserSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user has set; what is not set is left out."""

    theme: str | UnsetType = UNSET
    """Colors of the page: `system`, `light` or `dark`."""
    effort: str | UnsetType = UNSET
    """How hard the model should think."""
    model: str | UnsetType = UNSET
    """The model that the page selects first."""
    instructions: str | UnsetType = UNSET
    """Instructions for every question."""
    send_key: str | UnsetType = UNSET
    """The key that sends a message: `enter` or `mod_enter`."""
    language: str | UnsetType = UNSET
    """Language of the page: `auto`, `en` or `zh`."""


class AccountView(msgspec.Struct, frozen=True, kw_only=True):
    """The user of a request."""

    user: str
    """Name of the user; `local` if the server has no users."""
    role: Role
    """What the user may do: `operator` includes reading the metrics."""
    carrier: Carrier
    """How the request has named its user."""
    settings: UserSettings
    """What the user has set."""


class SignInView(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is signed in."""

    id: str
    """Names the sign-in, to end it."""
    created_ms: int
    """When the user signed in."""
    last_used_ms: int
    """When it was used last, to the minute."""
    client: str
    """The browser, as it describes itself."""
    is_current: bool
    """Whether this very request uses it."""


class SignInList(msgspec.Struct, frozen=True, kw_only=True):
    """The sign-ins of a user."""

    items: list[SignInView]
    """The newest first."""
