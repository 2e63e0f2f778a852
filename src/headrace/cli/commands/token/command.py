"""Runs `headrace token`: manages the access tokens of a server's users."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from headrace.cli.commands.token.arguments import LIMITS
from headrace.cli.option import data_folder
from headrace.cli.store_option import call_store, find_store
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.server.storage.access_tokens import AccessTokenInfo, AccessTokens, Scope
    from headrace.server.storage.postgres.pool import Pool
    from headrace.server.storage.postgres.tables.tokens import PostgresTokens
    from headrace.server.storage.usage.limits import UsageLimits

T = TypeVar("T")


def run(options: Namespace) -> int:
    """Create, list, rotate or revoke access tokens. A running server notices at once."""
    commands = {"create": _create, "list": _list, "rotate": _rotate, "revoke": _revoke}
    store = find_store(options.store)
    with _open_tokens(options) if store is None else nullcontext(_StoreTokens(store)) as tokens:
        commands[options.action](tokens, options)
    return 0


def _create(tokens: AccessTokens | _StoreTokens, options: Namespace) -> None:
    from headrace.server.service import now_ms
    from headrace.server.storage.accounts import check_user_name
    from headrace.server.storage.usage.limits import UsageLimits

    # Written as accounts are: the token of a disabled account is refused.
    user, now = check_user_name(options.user), now_ms()
    expires_ms = None if options.expires is None else now + options.expires * 1000
    limits = UsageLimits(**{name: getattr(options, name) for name in LIMITS})
    print(tokens.create(user, options.name, now, options.scope, expires_ms, limits))


def _list(tokens: AccessTokens | _StoreTokens, options: Namespace) -> None:
    from headrace.server.service import now_ms

    for token in tokens.all():
        print(_describe(token, now_ms()))


def _describe(token: AccessTokenInfo, now_ms: int) -> str:
    notes: list[str] = [] if token.scope == "chat" else [token.scope]
    if token.expires_ms is not None:
        is_over = token.expires_ms <= now_ms
        notes.append(f"{'expired' if is_over else 'expires'} {_format_day(token.expires_ms)}")
    used = "never used" if token.last_used_ms is None else f"used {_format_day(token.last_used_ms)}"
    notes.append(used)
    if token.quota is not None:
        notes += token.quota.limits.describe()
    made = _format_day(token.created_ms)
    return f"{token.id}  {made}  {token.owner}  ({', '.join(notes)})  {token.name}".rstrip()


def _format_day(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d}"


def _rotate(tokens: AccessTokens | _StoreTokens, options: Namespace) -> None:
    from headrace.server.service import now_ms

    new = tokens.rotate(options.id, now_ms(), grace_ms=options.grace * 1000)
    if new is None:
        raise _unknown(options.id)
    print(new)


def _revoke(tokens: AccessTokens | _StoreTokens, options: Namespace) -> None:
    if not tokens.revoke(options.id):
        raise _unknown(options.id)


def _unknown(token_id: str) -> UsageError:
    return UsageError(f"no token {token_id}: `headrace token list` shows all tokens")


@contextmanager
def _open_tokens(options: Namespace) -> Generator[AccessTokens, None, None]:
    from headrace.server.storage.access_tokens import AccessTokens
    from headrace.server.storage.sqlite.database import Database
    from headrace.server.storage.store import SQLiteStore

    folder = data_folder(options.data)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(folder / "headrace.db")
    try:
        SQLiteStore(database)
        yield AccessTokens(database)
    finally:
        database.close()


class _StoreTokens:
    """The access tokens in the database of several servers."""

    def __init__(self, url: str) -> None:
        self._url = url

    def create(
        self,
        owner: str,
        name: str,
        now_ms: int,
        scope: Scope = "chat",
        expires_ms: int | None = None,
        limits: UsageLimits | None = None,
    ) -> str:
        return self._call(
            lambda tokens: tokens.create(owner, name, now_ms, scope, expires_ms, limits)
        )

    def rotate(self, token_id: str, now_ms: int, *, grace_ms: int) -> str | None:
        return self._call(lambda tokens: tokens.rotate(token_id, now_ms, grace_ms=grace_ms))

    def all(self) -> list[AccessTokenInfo]:
        return self._call(lambda tokens: tokens.all())

    def revoke(self, token_id: str) -> bool:
        return self._call(lambda tokens: tokens.revoke(token_id))

    def _call(self, work: Callable[[PostgresTokens], Awaitable[T]]) -> T:
        async def open_tokens(pool: Pool) -> T:
            from headrace.server.storage.postgres.tables.tokens import PostgresTokens

            return await work(PostgresTokens(pool))

        return call_store(self._url, open_tokens)
