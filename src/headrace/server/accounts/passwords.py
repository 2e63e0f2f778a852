"""Hashes and checks passwords with Argon2, in a few threads. The only module that imports it."""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from headrace.errors import UsageError
from headrace.server.http_error import HTTPError

T = TypeVar("T")
MIN_PASSWORD_CHARS: Final = 10
MAX_PASSWORD_CHARS: Final = 1_000
# Each takes 64 MiB and a processor for some 50 ms.
_THREADS: Final = 2
_MAX_WAITING: Final = 32


class Passwords:
    """Hashes and checks passwords beside the event loop. Raises `UsageError` if the extra `users`
    is not installed."""

    def __init__(self) -> None:
        self._hasher = _create_hasher()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="headrace-password")
        self._waiting = 0
        self._unknown_hash: str | None = None

    async def hash(self, password: str) -> str:
        """Return the hash of a password, which is stored instead of it."""
        return await self._run(lambda: hash_with(self._hasher, password))

    async def is_right(self, password_hash: str | None, password: str) -> bool:
        """Return whether a password has this hash. Without a hash, because there is no such user,
        the answer is no, and takes as long."""
        if self._unknown_hash is None:
            self._unknown_hash = await self.hash(secrets.token_urlsafe(16))
        known = password_hash or self._unknown_hash
        is_same = await self._run(lambda: self._verify(known, password))
        return is_same and password_hash is not None

    def is_outdated(self, password_hash: str) -> bool:
        """Return whether a hash was made with other parameters than new ones are."""
        return bool(self._hasher.check_needs_rehash(password_hash))

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _verify(self, password_hash: str, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415 (an extra)

        try:
            return bool(self._hasher.verify(password_hash, _normalize(password)))
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], T]) -> T:
        """Run work in one of the threads. Raises an `HTTPError` of 503 if too much waits."""
        if self._waiting >= _MAX_WAITING:
            text = "too many people sign in right now: try again soon"
            raise HTTPError(503, "sign_in_busy", text, retry_after_s=1.0)
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        # Also if the client has left: the thread works on.
        future.add_done_callback(self._count_down)
        return await asyncio.shield(future)

    def _count_down(self, future: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # marks it as retrieved


def check_new_password(password: str, name: str) -> None:
    """Raise `UsageError` if a password must not be chosen."""
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise UsageError(f"a password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters")
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise UsageError("this password is too easy to guess: choose another")


def hash_password(password: str) -> str:
    """Return the hash of a password; synchronous version of `Passwords.hash()`."""
    return hash_with(_create_hasher(), password)


def hash_with(hasher: Any, password: str) -> str:
    """Return the hash of a password with the parameters of a hasher."""
    return str(hasher.hash(_normalize(password)))


def check_extra() -> None:
    """Raise `UsageError` if the extra `users` is not installed."""
    _create_hasher()


def _create_hasher() -> Any:
    try:
        from argon2 import PasswordHasher  # noqa: PLC0415 (an extra)
    except ImportError:
        raise UsageError("passwords need an extra: pip install 'headrace[users]'") from None
    return PasswordHasher()


def _normalize(password: str) -> bytes:
    """Return the bytes of a password, the same on every keyboard that can type it."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
