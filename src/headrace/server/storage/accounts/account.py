"""The `Accounts` interface, and what is stored about an account and its sign-ins."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

import msgspec

from headrace.errors import UsageError
from headrace.server.storage.access_tokens import Role

MAX_NAME_CHARS: Final = 100
DELETED_USER: Final = "(deleted)"
"""The owner of the usage of users who have been deleted, so that sums stay right. Nobody can have
this name."""
MAX_SIGN_INS: Final = 100
"""Most sign-ins of one user; a further one ends the one that was not used for longest."""
_MAX_CLIENT_CHARS: Final = 200


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An account: who may sign in with a name and a password."""

    name: str
    role: Role
    password_hash: str
    is_disabled: bool
    created_ms: int

    def __repr__(self) -> str:
        """Leave the hash of the password out."""
        return f"Account(name={self.name!r}, role={self.role!r}, is_disabled={self.is_disabled})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Leave the hash of the password out."""
        return [("name", self.name), ("role", self.role), ("is_disabled", self.is_disabled)]


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in of a person whose account is not disabled."""

    owner: str
    role: Role
    created_ms: int
    last_used_ms: int


class SignInInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a user is shown about a sign-in; never the value of the cookie."""

    id: str
    """Derived from the hash of the cookie; names the sign-in for `end_sign_in()`."""
    created_ms: int
    last_used_ms: int
    client: str
    """The browser, as it describes itself."""


class Accounts(Protocol):
    """Stores accounts, sign-ins and the settings of users.

    Settings belong to any user of the server, also to those who have no account. A method that
    takes the name of an account returns False, or None, if there is no such account.
    """

    async def add(self, name: str, role: Role, password_hash: str, now_ms: int) -> bool:
        """Add an account. Return False if there is one with this name, or if a user of this name is
        being deleted."""
        ...

    async def all(self) -> list[Account]:
        """Return all accounts by name."""
        ...

    async def find(self, name: str) -> Account | None:
        """Return an account, or None if there is none with this name."""
        ...

    async def set_disabled(self, name: str, is_disabled: bool) -> bool:
        """Disable an account, which ends its sign-ins, or enable it again."""
        ...

    async def set_password(
        self,
        name: str,
        password_hash: str,
        kept_sign_in: bytes | None = None,
        *,
        old_hash: str | None = None,
    ) -> bool:
        """Replace a password, and end all sign-ins of the account but one. With `old_hash`, return
        False and do nothing if the password has been replaced since that was read."""
        ...

    async def update_password_hash(self, name: str, old_hash: str, new_hash: str) -> bool:
        """Store another hash of the same password, unless the password has been replaced."""
        ...

    async def find_disabled(self, names: Collection[str]) -> set[str]:
        """Return those of these names whose accounts are disabled."""
        ...

    # -- sign-ins, which are found by the hash of their cookie

    async def add_sign_in(
        self, sign_in_hash: bytes, account: Account, client: str, now_ms: int
    ) -> bool:
        """Store a sign-in. Return False if the account has been disabled, deleted or given another
        password since it was read. Of more than `MAX_SIGN_INS`, those that were not used for
        longest end."""
        ...

    async def find_sign_in(self, sign_in_hash: bytes) -> SignIn | None:
        """Return a sign-in, or None if it has ended or its account is disabled."""
        ...

    async def use_sign_in(self, sign_in_hash: bytes, now_ms: int) -> None:
        """Note when a sign-in was used last."""
        ...

    async def sign_ins(self, owner: str) -> list[SignInInfo]:
        """Return the sign-ins of a user, the newest first."""
        ...

    async def end_sign_in(self, owner: str, sign_in_id: str) -> bool:
        """End a sign-in of a user. Return False if the user has no such sign-in."""
        ...

    async def expire_sign_ins(self, created_ms: int, last_used_ms: int) -> int:
        """Delete the sign-ins that are older than the first time or unused since the second; return
        how many."""
        ...

    async def find_ended(self, sign_in_hashes: Collection[bytes]) -> set[bytes]:
        """Return those of these hashes whose sign-ins have ended or whose accounts are disabled."""
        ...

    # -- settings

    async def settings(self, owner: str) -> dict[str, Any]:
        """Return the settings of a user; empty if none was ever changed."""
        ...

    async def change_settings(self, owner: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change some settings in one step, and return all of them. None removes a setting."""
        ...


def check_user_name(name: str) -> str:
    """Return the name of a user in its normal form. Raises `UsageError` if it is not a name: 1 to
    100 printable characters without blanks at its ends."""
    normal = unicodedata.normalize("NFC", name)
    is_line = normal.isprintable() and normal == normal.strip()
    if not (is_line and 0 < len(normal) <= MAX_NAME_CHARS) or normal == DELETED_USER:
        raise UsageError(
            f"a user name has 1 to {MAX_NAME_CHARS} printable characters, with no blanks around it"
        )
    return normal


def hash_sign_in(cookie: str) -> bytes:
    """Return the hash of the value of a cookie, which is stored instead of it."""
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).digest()


def sign_in_id_of(sign_in_hash: bytes) -> str:
    """Return the id of a sign-in, which names it without revealing its cookie."""
    return sign_in_hash.hex()[:16]


def clean_client(text: str) -> str:
    """Return how a browser describes itself, as one short line."""
    return "".join(one for one in text if one.isprintable())[:_MAX_CLIENT_CHARS]


def merge_settings(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with some changes. None removes a setting."""
    merged = {**settings, **changes}
    return {name: value for name, value in merged.items() if value is not None}
