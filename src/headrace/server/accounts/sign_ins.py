"""Signs people in with a name and a password, and changes passwords."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from headrace.errors import UsageError
from headrace.server.accounts.cookie import create_cookie
from headrace.server.accounts.passwords import Passwords, check_new_password
from headrace.server.http_error import HTTPError
from headrace.server.runs.rate_limit import Buckets
from headrace.server.storage.access_tokens import User
from headrace.server.storage.accounts import Account, Accounts, check_user_name, hash_sign_in


class AttemptLimit(NamedTuple):
    """How many wrong passwords are accepted: some at once, then one from time to time."""

    at_once: int
    per_minute: float


FOR_NAME: Final = AttemptLimit(10, 0.5)
"""Wrong passwords for one name, from wherever they come."""
FOR_ADDRESS: Final = AttemptLimit(30, 2.0)
"""Wrong passwords from one address, for whichever name."""


class SignIns:
    """Checks names and passwords.

    Wrong ones are counted by name and by address. Only new sign-ins are refused then: who is signed
    in stays so. The counts are kept in memory, by each server for itself.
    """

    def __init__(
        self,
        accounts: Accounts,
        clock: Callable[[], int],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._accounts = accounts
        self._clock = clock
        self._timer = timer
        self._passwords = Passwords()
        self._attempts = Buckets()

    async def begin(
        self, name: str, password: str, *, client: str, address: str
    ) -> tuple[User, str]:
        """Return the user, and the value of the cookie of a new sign-in.

        Raises an `HTTPError` of 401 that does not tell what is wrong, and of 429 after too many
        attempts.
        """
        name = _clean_name(name)
        address_key, name_key = ("address", address), ("name", name)
        self._count(address_key, FOR_ADDRESS)
        self._count(name_key, FOR_NAME)
        account = await self._check_counted(name, password, address_key, name_key)
        cookie = create_cookie()
        sign_in_hash = hash_sign_in(cookie)
        is_stored = account is not None and await self._accounts.add_sign_in(
            sign_in_hash, account, client, self._clock()
        )
        if account is None or not is_stored:
            raise HTTPError(401, "sign_in_failed", "the name or the password is wrong")
        # Only wrong passwords count.
        self._attempts.give_back(address_key)
        self._attempts.give_back(name_key)
        await self._renew_hash(account, password)
        user = User(account.name, carrier="cookie", role=account.role, sign_in_hash=sign_in_hash)
        return user, cookie

    async def change_password(self, user: User, old: str, new: str) -> None:
        """Replace the password of a user, and end the user's other sign-ins. Raises an `HTTPError`
        of 403 if the old one is wrong, of 422 for a bad new one, and of 429."""
        key = ("password", user.owner)
        self._count(key, FOR_NAME)
        account = await self._check_counted(user.owner, old, key)
        if account is None:
            raise _wrong_password()
        self._attempts.give_back(key)
        try:
            check_new_password(new, user.owner)
        except UsageError as error:
            raise HTTPError(422, "bad_password", str(error)) from None
        new_hash = await self._passwords.hash(new)
        # The operator may have reset the password in the meantime.
        is_set = await self._accounts.set_password(
            user.owner, new_hash, user.sign_in_hash, old_hash=account.password_hash
        )
        if not is_set:
            raise _wrong_password()

    def close(self) -> None:
        """End the threads that check passwords."""
        self._passwords.close()

    async def _check_counted(
        self, name: str, password: str, *keys: tuple[str, str]
    ) -> Account | None:
        """Return the account with this password. An attempt that cannot be checked, because too
        many are, is given back: only wrong passwords count."""
        try:
            return await self._check(name, password)
        except HTTPError:
            for key in keys:
                self._attempts.give_back(key)
            raise

    async def _check(self, name: str, password: str) -> Account | None:
        """Return the account with this password. The answer takes as long if there is none, or if
        it is disabled."""
        account = await self._accounts.find(name)
        password_hash = None if account is None else account.password_hash
        is_right = await self._passwords.is_right(password_hash, password)
        return account if account is not None and is_right and not account.is_disabled else None

    async def _renew_hash(self, account: Account, password: str) -> None:
        """Hash a password again if its hash was made with older parameters."""
        if self._passwords.is_outdated(account.password_hash):
            new_hash = await self._passwords.hash(password)
            await self._accounts.update_password_hash(account.name, account.password_hash, new_hash)

    def _count(self, key: tuple[str, str], limit: AttemptLimit) -> None:
        wait_s = self._attempts.take(key, self._timer(), limit.per_minute, limit.at_once)
        if wait_s:
            text = "too many attempts to sign in: try again later"
            raise HTTPError(429, "too_many_attempts", text, retry_after_s=wait_s)


def _wrong_password() -> HTTPError:
    return HTTPError(403, "wrong_password", "the old password is wrong")


def _clean_name(name: str) -> str:
    """Return the name as accounts have it. One that no account can have becomes an empty one, which
    no account has either."""
    try:
        return check_user_name(name)
    except UsageError:
        return ""
