"""Runs `headrace token`: manages the access tokens of a server's users."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from headrace.cli.option import data_folder
from headrace.cli.store_option import call_store, find_store
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.server.storage.access_tokens import AccessTokenInfo, AccessTokens, Scope
    from headrace.server.storage.postgres.pool import Pool
    from headrace.server.storage.postgres.tables.tokens import PostgresTokens

T = TypeVar("T")


def run(options: Namespace) -> int:
    """Create, list or revoke access tokens. A running server notices at once."""
    commands = {"create": _create, "list": _list, "revoke": _revoke}
    store = find_store(options.store)
    with _open_tokens(options) if store is None else nullcontext(_StoreTokens(store)) as tokens:
        commands[options.action](tokens, options)
    return 0


def _create(tokens: AccessTokens | _StoreTokens, options: Namespace) -> None:
    from headrace.server.service import now_ms

    if not options.user.strip():
        raise UsageError("the user name is empty")
    print(tokens.create(options.user, options.name, now_ms(), options.scope))


def _list(tokens: AccessTokens | _StoreTokens, options: Namespace) -> None:
    for token in tokens.all():
        made = datetime.fromtimestamp(token.created_ms / 1000, UTC)
        note = token.name if token.scope == "chat" else f"({token.scope}) {token.name}"
        print(f"{token.id}  {made:%Y-%m-%d}  {token.owner}  {note}".rstrip())


def _revoke(tokens: AccessTokens | _StoreTokens, options: Namespace) -> None:
    if not tokens.revoke(options.id):
        raise UsageError(f"no token {options.id}: `headrace token list` shows all tokens")


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

    def create(self, owner: str, name: str, now_ms: int, scope: Scope = "chat") -> str:
        return self._call(lambda tokens: tokens.create(owner, name, now_ms, scope))

    def all(self) -> list[AccessTokenInfo]:
        return self._call(lambda tokens: tokens.all())

    def revoke(self, token_id: str) -> bool:
        return self._call(lambda tokens: tokens.revoke(token_id))

    def _call(self, work: Callable[[PostgresTokens], Awaitable[T]]) -> T:
        async def open_tokens(pool: Pool) -> T:
            from headrace.server.storage.postgres.tables.tokens import PostgresTokens

            return await work(PostgresTokens(pool))

        return call_store(self._url, open_tokens)
