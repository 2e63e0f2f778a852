"""What the limits of access tokens promise, in SQLite and in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from headrace.server.storage.access_tokens import AccessTokens, User
from headrace.server.storage.accounts.sqlite_user_data import SQLiteUserData
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.schema import migrate
from headrace.server.storage.postgres.tables.tokens import PostgresTokens
from headrace.server.storage.postgres.tables.usage import PostgresUsage
from headrace.server.storage.postgres.tables.user_data import PostgresUserData
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import SQLiteStore
from headrace.server.storage.usage.limits import CountedLimits, UsageLimits
from headrace.server.storage.usage.usage_table import UsageRow, UsageTable
from headrace.usage import Usage
from tests.postgres import shared_server

LIMITS = UsageLimits(requests_per_minute=3, tokens_per_day=100, cost_per_month=1.5)
NOON = int(datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp() * 1000)
DAY_MS = 86_400_000


class Place(NamedTuple):
    """The tables under test."""

    tokens: Any
    usage: Any
    user_data: Any
    count_windows: Callable[[], Awaitable[int]]

    async def call(self, work: Any) -> Any:
        """The methods of access tokens in SQLite for commands do not wait."""
        return await work if hasattr(work, "__await__") else work

    async def create(self, limits: UsageLimits | None = LIMITS) -> User:
        token = await self.call(self.tokens.create("anna", "ci", NOON, limits=limits))
        return await self.find(token)

    async def find(self, token: str) -> User:
        found = await self.tokens.find_user(token, NOON + 1)
        assert isinstance(found, User)
        return found

    async def ask(self, user: User, now_ms: int = NOON) -> str | None:
        """Count a request; return the limit that is used up."""
        assert user.quota is not None
        counted = [CountedLimits(user.quota.key, user.quota.limits)]
        used_up = await self.usage.count_request(counted, now_ms)
        return None if used_up is None else used_up.limit

    async def answer(
        self, user: User, tokens: int, cost: float = 0.0, ended_ms: int = NOON
    ) -> None:
        """Count an answer that has used this much."""
        row = UsageRow.create(
            owner=user.owner,
            door="headrace",
            name="m",
            model="m",
            started_ms=NOON,
            ended_ms=ended_ms,
            outcome="end_turn",
            usage=Usage(input_tokens=tokens, cost=cost),
            quota_id=user.quota_id,
        )
        await self.usage.add(row)


@asynccontextmanager
async def _sqlite(data: Path) -> AsyncIterator[Place]:
    database = Database(data / "headrace.db")
    SQLiteStore(database)

    async def count_windows() -> int:
        return len(await database.fetch("SELECT * FROM usage_windows WHERE owner <> 'anna'"))

    try:
        tokens, usage = AccessTokens(database), UsageTable(database)
        yield Place(tokens, usage, SQLiteUserData(database), count_windows)
    finally:
        database.close()


@asynccontextmanager
async def _postgres(data: Path) -> AsyncIterator[Place]:
    pool = Pool(shared_server().create_database())
    await pool.open()

    async def count_windows() -> int:
        return len(await pool.fetch("SELECT * FROM usage_windows WHERE owner <> 'anna'"))

    try:
        await migrate(pool)
        tokens, usage = PostgresTokens(pool), PostgresUsage(pool)
        yield Place(tokens, usage, PostgresUserData(pool), count_windows)
    finally:
        await pool.close()


Play: TypeAlias = Callable[[Callable[[Place], Awaitable[None]]], None]


@pytest.fixture(params=[_sqlite, _postgres], ids=["sqlite", "postgres"])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Play:
    def run(body: Callable[[Place], Awaitable[None]]) -> None:
        async def main() -> None:
            async with request.param(tmp_path) as place:
                await body(place)

        asyncio.run(main())

    return run


def test_a_token_without_limits_has_no_quota(play: Play) -> None:
    async def body(place: Place) -> None:
        assert (await place.create(None)).quota is None
        assert (await place.create(UsageLimits())).quota is None

    play(body)


def test_each_limit_ends_with_its_time(play: Play) -> None:
    async def body(place: Place) -> None:
        user = await place.create()
        assert [await place.ask(user) for _ in range(3)] == [None] * 3
        assert await place.ask(user) == "3 requests per minute"
        assert await place.ask(user, NOON + 60_000) is None
        await place.answer(user, tokens=100)
        assert await place.ask(user, NOON + 120_000) == "100 tokens per day"
        assert await place.ask(user, NOON + DAY_MS) is None
        await place.answer(user, tokens=0, cost=1.5)
        assert await place.ask(user, NOON + DAY_MS + 60_000) == "$1.5 per month"
        assert await place.ask(user, NOON + 20 * DAY_MS) is None

    play(body)


def test_a_token_is_not_charged_for_another(play: Play) -> None:
    async def body(place: Place) -> None:
        first, second, unlimited = [await place.create(one) for one in (LIMITS, LIMITS, None)]
        await place.answer(first, tokens=100)
        await place.answer(unlimited, tokens=100)
        assert await place.ask(first) == "100 tokens per day"
        assert await place.ask(second) is None

    play(body)


def test_a_refusal_of_one_limit_is_counted_for_none(play: Play) -> None:
    async def body(place: Place) -> None:
        user = await place.create()
        assert user.quota is not None
        own = CountedLimits(user.quota.key, user.quota.limits)
        full = CountedLimits("anna", UsageLimits(requests_per_day=1))
        assert await place.usage.count_request([full], NOON) is None
        for _ in range(5):
            used_up = await place.usage.count_request([own, full], NOON)
            assert used_up.limit == "1 requests per day"
            assert used_up.wait_s == DAY_MS / 2000
        assert await place.ask(user) is None

    play(body)


def test_requests_at_the_same_moment_do_not_exceed_a_limit(play: Play) -> None:
    async def body(place: Place) -> None:
        user = await place.create(UsageLimits(requests_per_minute=1))
        for minute in range(3):
            asked = [place.ask(user, NOON + minute * 60_000) for _ in range(8)]
            assert (await asyncio.gather(*asked)).count(None) == 1

    play(body)


def test_requests_and_answers_at_the_same_moment_do_not_fail(play: Play) -> None:
    async def body(place: Place) -> None:
        user = await place.create(UsageLimits(requests_per_day=1_000))
        assert user.quota is not None
        counted = [
            CountedLimits(user.quota.key, user.quota.limits),
            CountedLimits(user.owner, user.quota.limits),
        ]
        for minute in range(10):
            now_ms = NOON + minute * 60_000
            work = [place.usage.count_request(counted, now_ms) for _ in range(5)]
            work += [place.answer(user, tokens=1, ended_ms=now_ms) for _ in range(5)]
            assert set(await asyncio.gather(*work)) == {None}

    play(body)


def test_rotation_keeps_the_limits_and_what_was_used(play: Play) -> None:
    async def body(place: Place) -> None:
        user = await place.create()
        await place.answer(user, tokens=100)
        (info,) = await place.call(place.tokens.all())
        assert info.quota.limits == LIMITS
        new = await place.call(place.tokens.rotate(info.id, NOON, grace_ms=1_000))
        renewed = await place.find(new)
        assert renewed.quota == user.quota
        assert await place.ask(renewed) == await place.ask(user) == "100 tokens per day"
        # The counts live as long as one of the two.
        await place.call(place.tokens.revoke(info.id))
        assert await place.ask(renewed) == "100 tokens per day"

    play(body)


def test_nothing_is_left_of_the_counts_of_a_revoked_token(play: Play) -> None:
    async def body(place: Place) -> None:
        user, other = await place.create(), await place.create()
        assert user.token_hash is not None
        for one in (user, other):
            await place.answer(one, tokens=1)
        before = await place.count_windows()
        await place.call(place.tokens.revoke(user.token_hash.hex()[:12]))
        assert await place.count_windows() == before / 2 > 0
        await place.user_data.request_deletion("anna", NOON)
        await place.user_data.finish_deletion("anna", NOON)
        assert await place.count_windows() == 0

    play(body)


def test_days_and_minutes_do_not_pile_up(play: Play) -> None:
    async def body(place: Place) -> None:
        user = await place.create(UsageLimits(requests_per_day=10))
        for day in range(10):
            assert await place.ask(user, NOON + day * DAY_MS) is None
        await place.usage.delete_old_windows(NOON + 9 * DAY_MS)
        assert await place.count_windows() == 4

    play(body)


def test_neither_do_those_of_users_without_limits(play: Play) -> None:
    async def body(place: Place) -> None:
        for day in range(10):
            await place.answer(User("ben"), 100, ended_ms=NOON + day * DAY_MS)
        await place.usage.delete_old_windows(NOON + 9 * DAY_MS)
        assert await place.count_windows() == 4

    play(body)


def test_a_server_whose_clock_is_ahead_does_not_delete_the_day_of_another(play: Play) -> None:
    async def body(place: Place) -> None:
        user = await place.create(UsageLimits(requests_per_day=1))
        assert await place.ask(user) is None
        assert await place.ask(user, NOON + DAY_MS) is None
        await place.usage.delete_old_windows(NOON + DAY_MS)
        assert await place.ask(user) == "1 requests per day"

    play(body)
