"""What accounts, sign-ins, settings and access tokens promise, in SQLite and in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headrace.server.storage.access_tokens import AccessTokens, hash_access_token
from headrace.server.storage.accounts import Accounts, SQLiteAccounts, hash_sign_in
from headrace.server.storage.accounts.account import MAX_SIGN_INS
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.schema import migrate
from headrace.server.storage.postgres.tables.accounts import PostgresAccounts
from headrace.server.storage.postgres.tables.tokens import PostgresTokens
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import SQLiteStore
from tests.postgres import shared_server

MINUTE_MS = 60_000


class Place(NamedTuple):
    """Where they are stored."""

    accounts: Accounts
    tokens: Any

    async def call(self, work: Any) -> Any:
        """The methods of access tokens in SQLite for commands do not wait."""
        return await work if asyncio.iscoroutine(work) else work


@asynccontextmanager
async def _sqlite(data: Path) -> AsyncIterator[Place]:
    database = Database(data / "accounts.db")
    try:
        SQLiteStore(database)
        yield Place(SQLiteAccounts(database), AccessTokens(database))
    finally:
        database.close()


@asynccontextmanager
async def _postgres(data: Path) -> AsyncIterator[Place]:
    pool = Pool(shared_server().create_database())
    await pool.open()
    try:
        await migrate(pool)
        yield Place(PostgresAccounts(pool), PostgresTokens(pool))
    finally:
        await pool.close()


PLACES = {"sqlite": _sqlite, "postgres": _postgres}
Play = Callable[[Callable[[Place], Awaitable[None]]], None]


@pytest.fixture(params=PLACES)
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Play:
    def run(body: Callable[[Place], Awaitable[None]]) -> None:
        async def main() -> None:
            async with PLACES[request.param](tmp_path) as place:
                await body(place)

        asyncio.run(main())

    return run


async def sign_in(accounts: Accounts, name: str, cookie: str, now_ms: int = 100) -> bool:
    account = await accounts.find(name)
    assert account is not None
    return await accounts.add_sign_in(hash_sign_in(cookie), account, "Firefox", now_ms)


def test_an_account_is_found_by_its_name_and_there_is_one_of_each(play: Play) -> None:
    async def body(place: Place) -> None:
        accounts = place.accounts
        assert await accounts.find("anna") is None
        assert await accounts.add("bert", "user", "hash b", 2)
        assert await accounts.add("anna", "operator", "hash a", 1)
        assert not await accounts.add("anna", "user", "another", 3)
        found = await accounts.find("anna")
        assert found is not None
        assert (found.role, found.password_hash, found.is_disabled) == ("operator", "hash a", False)
        assert [one.name for one in await accounts.all()] == ["anna", "bert"]
        assert "hash a" not in repr(found)

    play(body)


def test_a_sign_in_is_found_until_it_is_ended_by_its_owner(play: Play) -> None:
    async def body(place: Place) -> None:
        accounts = place.accounts
        await accounts.add("anna", "operator", "h", 1)
        await accounts.add("bert", "user", "h", 1)
        assert await sign_in(accounts, "anna", "one", 100)
        assert await sign_in(accounts, "anna", "two", 200)
        found = await accounts.find_sign_in(hash_sign_in("one"))
        assert found is not None
        assert (found.owner, found.role, found.created_ms) == ("anna", "operator", 100)
        newest, oldest = await accounts.sign_ins("anna")
        assert (newest.created_ms, oldest.created_ms, oldest.client) == (200, 100, "Firefox")
        assert await accounts.sign_ins("bert") == []
        assert not await accounts.end_sign_in("bert", oldest.id)
        assert await accounts.end_sign_in("anna", oldest.id)
        assert not await accounts.end_sign_in("anna", oldest.id)
        assert await accounts.find_sign_in(hash_sign_in("one")) is None
        both = {hash_sign_in("one"), hash_sign_in("two")}
        assert await accounts.find_ended(both) == {hash_sign_in("one")}

    play(body)


def test_a_new_password_ends_all_sign_ins_but_one(play: Play) -> None:
    async def body(place: Place) -> None:
        accounts = place.accounts
        await accounts.add("anna", "user", "old", 1)
        for cookie in ("one", "two", "three"):
            await sign_in(accounts, "anna", cookie)
        before = await accounts.find("anna")
        assert before is not None
        assert await accounts.set_password("anna", "new", hash_sign_in("two"))
        assert len(await accounts.sign_ins("anna")) == 1
        assert await accounts.find_sign_in(hash_sign_in("two")) is not None
        # A sign-in with the old password that was checked before is too late.
        assert not await accounts.add_sign_in(hash_sign_in("four"), before, "", 1)
        assert not await accounts.update_password_hash("anna", "old", "old, hashed again")
        assert await accounts.update_password_hash("anna", "new", "new, hashed again")
        assert await accounts.set_password("anna", "newest")
        assert await accounts.sign_ins("anna") == []
        assert not await accounts.set_password("nobody", "x")

    play(body)


def test_a_password_that_was_replaced_meanwhile_stays(play: Play) -> None:
    async def body(place: Place) -> None:
        accounts = place.accounts
        await accounts.add("anna", "user", "old", 1)
        assert await accounts.set_password("anna", "of the operator")
        await sign_in(accounts, "anna", "one")
        assert not await accounts.set_password("anna", "late", None, old_hash="old")
        assert len(await accounts.sign_ins("anna")) == 1
        assert await accounts.set_password("anna", "new", None, old_hash="of the operator")
        found = await accounts.find("anna")
        assert found is not None
        assert found.password_hash == "new"
        assert await accounts.sign_ins("anna") == []

    play(body)


def test_the_sign_in_that_was_unused_for_longest_makes_room(play: Play) -> None:
    async def body(place: Place) -> None:
        accounts = place.accounts
        for name in ("anna", "bert"):
            await accounts.add(name, "user", "h", 1)
            await sign_in(accounts, name, name, 1)
        for number in range(MAX_SIGN_INS - 1):
            assert await sign_in(accounts, "anna", str(number), 2 + number)
        await accounts.use_sign_in(hash_sign_in("anna"), 1_000)
        # Even if the clock was set back, it is not the new one that ends.
        assert await sign_in(accounts, "anna", "new", 0)
        kept = [hash_sign_in(one) for one in ("anna", "bert", "new", "1")]
        assert await accounts.find_ended([*kept, hash_sign_in("0")]) == {hash_sign_in("0")}
        assert len(await accounts.sign_ins("anna")) == MAX_SIGN_INS

    play(body)


def test_a_disabled_account_has_no_sign_in_and_no_access_token(play: Play) -> None:
    async def body(place: Place) -> None:
        accounts, tokens = place.accounts, place.tokens
        await accounts.add("anna", "user", "h", 1)
        token = await place.call(tokens.create("anna", "", 1))
        await sign_in(accounts, "anna", "one")
        before = await accounts.find("anna")
        assert before is not None
        assert await accounts.set_disabled("anna", True)
        assert not await accounts.set_disabled("nobody", True)
        assert await accounts.find_disabled(["anna", "bert"]) == {"anna"}
        assert not await accounts.add_sign_in(hash_sign_in("two"), before, "", 1)
        assert await accounts.find_sign_in(hash_sign_in("one")) is None
        assert await tokens.find_user(token, 5) is None
        token_hash = hash_access_token(token)
        assert await tokens.find_revoked([token_hash], 5) == {token_hash}
        assert await accounts.set_disabled("anna", False)
        assert await tokens.find_user(token, 5) is not None
        # What has ended stays so.
        assert await accounts.find_sign_in(hash_sign_in("one")) is None

    play(body)


def test_old_and_unused_sign_ins_expire(play: Play) -> None:
    async def body(place: Place) -> None:
        accounts = place.accounts
        await accounts.add("anna", "user", "h", 1)
        await sign_in(accounts, "anna", "old", 100)
        await sign_in(accounts, "anna", "unused", 200)
        await sign_in(accounts, "anna", "used", 300)
        for cookie in ("old", "used"):
            await accounts.use_sign_in(hash_sign_in(cookie), 900)
        assert await accounts.expire_sign_ins(150, 500) == 2
        (left,) = await accounts.sign_ins("anna")
        assert (left.created_ms, left.last_used_ms) == (300, 900)

    play(body)


def test_settings_are_changed_one_by_one_and_removed_by_none(play: Play) -> None:
    async def body(place: Place) -> None:
        accounts = place.accounts
        assert await accounts.settings("local") == {}
        first = {"theme": "dark", "instructions": "Be brief.\0é"}
        assert await accounts.change_settings("local", first) == first
        changed = await accounts.change_settings("local", {"theme": None, "model": "m"})
        assert changed == {"instructions": "Be brief.\0é", "model": "m"}
        assert await accounts.settings("local") == changed
        assert await accounts.settings("anna") == {}
        # None of many changes at once is lost.
        names = [f"s{number}" for number in range(8)]
        await asyncio.gather(*(accounts.change_settings("anna", {name: name}) for name in names))
        assert await accounts.settings("anna") == {name: name for name in names}

    play(body)


def test_the_last_use_of_an_access_token_is_stored_to_the_minute(play: Play) -> None:
    async def body(place: Place) -> None:
        tokens = place.tokens
        token = await place.call(tokens.create("anna", "", 1))
        for now_ms in (10 * MINUTE_MS, 10 * MINUTE_MS + 5_000, 12 * MINUTE_MS):
            assert await tokens.find_user(token, now_ms) is not None
            (info,) = await place.call(tokens.all())
            assert info.last_used_ms == now_ms - (5_000 if now_ms % MINUTE_MS else 0)

    play(body)


def test_an_access_token_ends_when_it_expires(play: Play) -> None:
    async def body(place: Place) -> None:
        tokens = place.tokens
        token = await place.call(tokens.create("anna", "laptop", 1, expires_ms=1_000))
        token_hash = hash_access_token(token)
        assert await tokens.find_user(token, 999) is not None
        assert await tokens.find_revoked([token_hash], 999) == set()
        assert await tokens.find_user(token, 1_000) is None
        assert await tokens.find_revoked([token_hash], 1_000) == {token_hash}

    play(body)


def test_a_rotated_access_token_has_a_successor_and_a_grace_time(play: Play) -> None:
    async def body(place: Place) -> None:
        tokens = place.tokens
        old = await place.call(tokens.create("anna", "laptop", 1, "metrics", expires_ms=90_000))
        (before,) = await place.call(tokens.all())
        new = await place.call(tokens.rotate(before.id, 2_000, grace_ms=500))
        assert new not in (None, old)
        assert await tokens.find_user(old, 2_499) is not None
        assert await tokens.find_user(old, 2_500) is None
        found = await tokens.find_user(new, 2_500)
        assert (found.owner, found.scope) == ("anna", "metrics")
        # It lives as long as the old one would have lived from its creation on.
        infos = await place.call(tokens.all())
        assert [one.expires_ms for one in infos] == [2_500, 2_000 + 90_000 - 1]
        assert [one.name for one in infos] == ["laptop", "laptop"]
        # An old one that would expire sooner does not live longer because of it.
        newer = await place.call(tokens.rotate(infos[1].id, 3_000, grace_ms=10**9))
        assert newer is not None
        assert [one.expires_ms for one in await place.call(tokens.all())][1] == 91_999
        assert await place.call(tokens.rotate("unknown", 1, grace_ms=0)) is None

    play(body)
