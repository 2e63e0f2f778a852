"""Finds the user of a request: by an access token, a trusted proxy or the cookie of a sign-in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from headrace.server.accounts.cookie import read_cookie
from headrace.server.accounts.origin import is_foreign, is_from_page
from headrace.server.accounts.trusted_proxy import TrustedProxies
from headrace.server.http_error import HTTPError
from headrace.server.settings import Settings
from headrace.server.storage.access_tokens import LOCAL_USER, USE_INTERVAL_MS, Scope, User
from headrace.server.storage.accounts import Accounts, hash_sign_in
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.storage import Storage


class Identity:
    """Finds the users of requests. Every route asks here, so that all decide alike."""

    def __init__(self, settings: Settings, storage: Storage, clock: Callable[[], int]) -> None:
        self._settings = settings
        self._tokens = storage.access_tokens
        self._accounts: Accounts = storage.accounts
        self._clock = clock
        self.proxies = TrustedProxies(settings.trusted_proxies, settings.trusted_user_header)

    async def find_user(self, request: HTTPConnection, scope: Scope) -> User:
        """Return the user of a request.

        Raises an `HTTPError` of 401 if the request names no user or a wrong one, and of 403 if this
        user may not do what the scope says.
        """
        if not self._settings.has_users:
            return LOCAL_USER
        access_token = read_access_token(request.headers)
        if access_token is not None:
            user = await self._tokens.find_user(access_token, self._clock())
        else:
            # What a browser or a proxy adds by itself must not serve the pages of other sites.
            user = None if is_foreign(request.headers) else await self._find_person(request)
        if user is None:
            raise self._refuse(access_token)
        is_operator = scope == "metrics" and user.role == "operator"
        if user.scope != scope and not is_operator:
            text = f"this needs an access token with the scope {scope}"
            raise HTTPError(403, "wrong_scope", text)
        return user

    async def find_refused(self, users: Collection[User]) -> set[User]:
        """Return those of these users whose access token or sign-in has ended, or whose account is
        disabled."""
        tokens = {user.token_hash for user in users if user.token_hash is not None}
        cookies = {user.sign_in_hash for user in users if user.sign_in_hash is not None}
        names = {user.owner for user in users if user.carrier == "proxy"}
        refused: set[bytes | str | None] = set()
        if tokens:
            refused |= await self._tokens.find_revoked(tokens, self._clock())
        if cookies:
            refused |= await self._accounts.find_ended(cookies)
        if names:
            refused |= await self._accounts.find_disabled(names)
        return {
            user
            for user in users
            if user.token_hash in refused
            or user.sign_in_hash in refused
            or (user.carrier == "proxy" and user.owner in refused)
        }

    async def _find_person(self, request: HTTPConnection) -> User | None:
        name = self.proxies.read_user(request)
        if name is not None:
            return await self._find_known(name)
        if not self._settings.needs_sign_in or not is_from_page(request):
            return None
        cookie = read_cookie(request.headers)
        return None if cookie is None else await self._find_signed_in(cookie)

    async def _find_known(self, name: str) -> User:
        """Return a user that a proxy has named, who need not have an account here."""
        account = await self._accounts.find(name)
        if account is None:
            return User(name, carrier="proxy")
        if account.is_disabled:
            raise HTTPError(403, "account_disabled", "this account is disabled")
        return User(name, carrier="proxy", role=account.role)

    async def _find_signed_in(self, cookie: str) -> User | None:
        sign_in_hash, now_ms = hash_sign_in(cookie), self._clock()
        sign_in = await self._accounts.find_sign_in(sign_in_hash)
        if sign_in is None:
            return None
        oldest_ms, unused_ms = find_limits(self._settings, now_ms)
        if sign_in.created_ms < oldest_ms or sign_in.last_used_ms < unused_ms:
            return None
        if now_ms - sign_in.last_used_ms >= USE_INTERVAL_MS:
            # A full disk must not keep anybody from reading.
            with suppress(StorageFailed):
                await self._accounts.use_sign_in(sign_in_hash, now_ms)
        return User(sign_in.owner, carrier="cookie", role=sign_in.role, sign_in_hash=sign_in_hash)

    def _refuse(self, access_token: str | None) -> HTTPError:
        ways = ["token"]
        text = "this server requires an access token in the header Authorization: Bearer …"
        if self._settings.needs_sign_in:
            ways.insert(0, "password")
            text = "sign in, or send an access token in the header Authorization: Bearer …"
        if access_token is not None:
            text = "this access token is unknown to the server, has expired, or was revoked"
        return HTTPError(401, "no_token", text, sign_in=ways)


def find_limits(settings: Settings, now_ms: int) -> tuple[int, int]:
    """Return when the oldest sign-in that is valid may have begun, and may have been used last."""
    oldest_ms = now_ms - int(settings.sign_in_max_s * 1000)
    return oldest_ms, now_ms - int(settings.sign_in_idle_s * 1000)


def read_access_token(headers: Headers) -> str | None:
    """Return the access token of a request, or None. Clients of Anthropic's API send it as
    `x-api-key`."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    return headers.get("x-api-key")
