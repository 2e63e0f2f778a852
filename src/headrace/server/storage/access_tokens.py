"""Access tokens: which user a request belongs to. Only hashes of the tokens are stored."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Collection
from contextlib import suppress
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from headrace.errors import UsageError
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.usage.limits import QUOTA_KEYS, TokenQuota, UsageLimits

LOCAL = "local"
"""The owner of everything if the server has no users."""
_PREFIX = "hr_"
USE_INTERVAL_MS: Final = 60_000
"""How exactly the last use of an access token or a sign-in is stored: a write for every request
would be too much."""
Role: TypeAlias = Literal["user", "operator"]
"""What a person may do: use the server, or also read its metrics."""
Carrier: TypeAlias = Literal["none", "token", "cookie", "proxy"]
"""How a request names its user: not at all, with an access token, with the cookie of a sign-in, or
with the header of a trusted proxy."""
Scope: TypeAlias = Literal["chat", "metrics"]
"""What an access token is for: the API and the web UI, or only `/metrics`."""
SCOPES: tuple[Scope, ...] = get_args(Scope)


class User(msgspec.Struct, frozen=True):
    """The user of a request."""

    owner: str
    scope: Scope = "chat"
    token_hash: bytes | None = None
    """Hash of the access token, or None if the request has none."""
    carrier: Carrier = "none"
    role: Role = "user"
    """What the user may do with this request. An access token never makes an operator."""
    sign_in_hash: bytes | None = None
    """Hash of the cookie, or None if the request has none."""
    quota: TokenQuota | None = None
    """The limits of the access token, or None if it has none."""

    @property
    def quota_id(self) -> str | None:
        """Id of the quota of the access token, or None if it has none."""
        return None if self.quota is None else self.quota.id


LOCAL_USER = User(LOCAL, role="operator")
"""The user of every request if the server has no users."""


class AccessTokenInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored about an access token; never the token itself."""

    id: str
    """Derived from the hash; names the token for `revoke()`."""
    owner: str
    name: str
    created_ms: int
    scope: Scope = "chat"
    expires_ms: int | None = None
    """When it ends, or None if it does not."""
    last_used_ms: int | None = None
    """When it was used last, to the minute; None if it never was."""
    quota: TokenQuota | None = None
    """Limits of the token, or None if it has none."""

    def find_successor_end(self, now_ms: int) -> int | None:
        """Return when a token that replaces this one ends: it lives as long, from now on."""
        return None if self.expires_ms is None else now_ms + self.expires_ms - self.created_ms

    def find_end(self, end_ms: int) -> int:
        """Return when this token ends if it must end by a time."""
        return end_ms if self.expires_ms is None else min(end_ms, self.expires_ms)


class AccessTokens:
    """Creates, lists, checks and revokes access tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        owner: str,
        name: str,
        now_ms: int,
        scope: Scope = "chat",
        expires_ms: int | None = None,
        limits: UsageLimits | None = None,
    ) -> str:
        """Create an access token and return it. It cannot be shown again later.

        Raises `UsageError` if the owner or the name is not a single line of printable characters.
        """
        access_token = create_access_token(owner, name)
        token_hash = hash_access_token(access_token)
        quota = encode_quota(create_quota(token_hash, limits))
        row = (token_hash, owner, name, now_ms, scope, expires_ms, quota)
        self._database.write_now(lambda c: c.execute(_INSERT, row))
        return access_token

    def rotate(self, token_id: str, now_ms: int, *, grace_ms: int) -> str | None:
        """Replace an access token by a new one for the same user and purpose, and return that. The
        old one ends after a grace time; limits are counted for both together. Returns None if the
        id is unknown."""

        def work(connection: sqlite3.Connection) -> str | None:
            found = [
                (row["hash"], info)
                for row in connection.execute("SELECT * FROM tokens")
                if (info := to_token_info(row)).id == token_id
            ]
            if not found:
                return None
            old_hash, old = found[0]
            new = create_access_token(old.owner, old.name)
            row = (hash_access_token(new), old.owner, old.name, now_ms, old.scope)
            end_ms = old.find_successor_end(now_ms)
            connection.execute(_INSERT, (*row, end_ms, encode_quota(old.quota)))
            connection.execute(
                "UPDATE tokens SET expires_ms = ? WHERE hash = ?",
                (old.find_end(now_ms + grace_ms), old_hash),
            )
            return new

        return self._database.write_now(work)

    def all(self) -> list[AccessTokenInfo]:
        """Return all access tokens, the oldest first."""
        query = "SELECT * FROM tokens ORDER BY created_ms, hash"
        rows = self._database.write_now(lambda c: c.execute(query).fetchall())
        return [to_token_info(row) for row in rows]

    def revoke(self, token_id: str) -> bool:
        """Revoke an access token. Return False if the id is unknown.

        It is refused from the next request on; a running server ends its streams soon.
        """

        def work(connection: sqlite3.Connection) -> bool:
            hashes = [
                (row["hash"],)
                for row in connection.execute("SELECT hash FROM tokens")
                if token_id_of(row["hash"]) == token_id
            ]
            connection.executemany("DELETE FROM tokens WHERE hash = ?", hashes)
            delete_unused_quotas(connection)
            return bool(hashes)

        return self._database.write_now(work)

    async def find_user(self, access_token: str, now_ms: int) -> User | None:
        """Return the user of an access token, or None if the token is unknown or has expired, or
        if the user's account is disabled. Notes when the token was used."""
        token_hash = hash_access_token(access_token)
        query = (
            f"SELECT owner, scope, last_used_ms, quota FROM tokens WHERE hash = ? AND {_IS_VALID}"
        )
        rows = await self._database.fetch(query, (token_hash, now_ms))
        if not rows:
            return None
        if now_ms - (rows[0]["last_used_ms"] or 0) >= USE_INTERVAL_MS:
            update = "UPDATE tokens SET last_used_ms = ? WHERE hash = ?"
            # A full disk must not keep anybody from reading.
            with suppress(StorageFailed):
                await self._database.write(lambda c: c.execute(update, (now_ms, token_hash)))
        owner, scope, _, quota = rows[0]
        return User(owner, scope, token_hash, "token", quota=decode_quota(quota))

    async def find_revoked(self, token_hashes: Collection[bytes], now_ms: int) -> set[bytes]:
        """Return those of these hashes whose access tokens are not valid any more."""

        def work(connection: sqlite3.Connection) -> set[bytes]:
            query = f"SELECT 1 FROM tokens WHERE hash = ? AND {_IS_VALID}"
            return {
                one
                for one in token_hashes
                if connection.execute(query, (one, now_ms)).fetchone() is None
            }

        return await self._database.read(work)


_IS_VALID: Final = (
    "(expires_ms IS NULL OR expires_ms > ?) AND NOT EXISTS"
    " (SELECT 1 FROM users WHERE users.name = tokens.owner AND is_disabled)"
)


_INSERT: Final = (
    "INSERT INTO tokens (hash, owner, name, created_ms, scope, expires_ms, quota)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


def to_token_info(row: sqlite3.Row) -> AccessTokenInfo:
    """Return what a row of the table says."""
    fields = {**dict(row), "id": token_id_of(row["hash"]), "quota": decode_quota(row["quota"])}
    return msgspec.convert(fields, AccessTokenInfo)


def delete_unused_quotas(connection: sqlite3.Connection) -> None:
    """Delete what was counted for access tokens that do not exist any more."""
    quotas = [decode_quota(row["quota"]) for row in connection.execute("SELECT quota FROM tokens")]
    keys = {quota.key for quota in quotas if quota is not None}
    counted = connection.execute(
        "SELECT DISTINCT owner FROM usage_windows WHERE owner >= ? AND owner < ?", QUOTA_KEYS
    )
    unused = [(row["owner"],) for row in counted.fetchall() if row["owner"] not in keys]
    connection.executemany("DELETE FROM usage_windows WHERE owner = ?", unused)


def token_id_of(token_hash: bytes) -> str:
    """Return the id of an access token, which names it without revealing it."""
    return token_hash.hex()[:12]


def create_quota(token_hash: bytes, limits: UsageLimits | None) -> TokenQuota | None:
    """Return the quota of a new access token, or None if it has no limits."""
    if limits is None or limits.is_unlimited:
        return None
    return TokenQuota(token_id_of(token_hash), limits)


def encode_quota(quota: TokenQuota | None) -> str | None:
    """Return a quota as it is stored."""
    return None if quota is None else _encode_quota(quota).decode()


def decode_quota(text: str | None) -> TokenQuota | None:
    """Return a quota that was stored."""
    return None if text is None else _decode_quota(text)


_encode_quota = msgspec.json.Encoder().encode
_decode_quota = msgspec.json.Decoder(TokenQuota).decode


def create_access_token(owner: str, name: str) -> str:
    """Return a new access token for a user. Raises `UsageError` if the owner or the name of the
    token is not a single line of printable characters."""
    for text in (owner, name):
        if not text.isprintable():
            raise UsageError(f"expected a single line of printable characters; got {text!r:.60}")
    return _PREFIX + secrets.token_urlsafe(32)


def hash_access_token(access_token: str) -> bytes:
    """Return the hash of an access token, which is stored instead of it."""
    return hashlib.sha256(access_token.encode()).digest()
