"""Usage rows, their sums, and limits by minute and month."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from headrace.cli.main import main
from headrace.errors import UsageError
from headrace.rehearsal.script import say, turn
from headrace.rehearsal.script import usage as tokens
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import SQLiteStore
from headrace.server.storage.usage.limits import CountedLimits, UsageLimits
from headrace.server.storage.usage.usage_table import GROUPS, UsageRow, UsageTable
from headrace.usage import Usage
from tests.server.serving import scripted, served


@pytest.fixture
def table(tmp_path: Path) -> Iterator[UsageTable]:
    database = Database(tmp_path / "headrace.db")
    SQLiteStore(database)
    yield UsageTable(database)
    database.close()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def row(owner: str = "anna", model: str = "openai:gpt-5", cost: float | None = 0.25) -> UsageRow:
    return UsageRow.create(
        owner=owner,
        door="openai-chat",
        name="big",
        model=model,
        started_ms=at("2026-11-16T10:00"),
        ended_ms=at("2026-11-16T10:01"),
        outcome="end_turn",
        usage=Usage(input_tokens=100, output_tokens=20, reasoning_tokens=5, cost=cost),
    )


def add(table: UsageTable, *rows: UsageRow) -> None:
    async def add_all() -> None:
        for entry in rows:
            await table.add(entry)

    asyncio.run(add_all())


def count(table: UsageTable, now: str, limits: UsageLimits, owner: str = "anna") -> str | None:
    used_up = asyncio.run(table.count_request([CountedLimits(owner, limits)], at(now)))
    return None if used_up is None else used_up.limit


def test_sums_by_every_group(table: UsageTable) -> None:
    add(table, row(), row(), row("ben", cost=None), row("ben", "groq:llama", 1.0))
    by_user = {entry.group: entry for entry in table.sum_up(["user"])}
    assert by_user["anna",].cost == 0.5
    assert by_user["anna",].output_tokens == 40
    assert by_user["ben",].unpriced == 1
    pairs = [entry.group for entry in table.sum_up(["user", "model"])]
    assert pairs[0] == ("ben", "groq:llama")
    assert len(pairs) == 3
    for name in GROUPS:
        assert sum(entry.answers for entry in table.sum_up([name])) == 4
    assert [entry.group for entry in table.sum_up(["day"])] == [("2026-11-16",)]
    assert table.sum_up(["user"], since_ms=at("2026-11-17T00:00")) == []
    (anna,) = table.sum_up([], owner="anna")
    assert anna.answers == 2
    with pytest.raises(UsageError, match="salary"):
        table.sum_up(["salary"])


def test_requests_are_limited_by_the_minute(table: UsageTable) -> None:
    limits = UsageLimits(requests_per_minute=2)
    assert count(table, "2026-11-16T10:00:10", limits) is None
    assert count(table, "2026-11-16T10:00:50", limits) is None
    assert count(table, "2026-11-16T10:00:59", limits) == "2 requests per minute"
    assert count(table, "2026-11-16T10:00:59", limits, "ben") is None
    assert count(table, "2026-11-16T10:01:00", limits) is None


def test_tokens_and_cost_count_when_they_are_known(table: UsageTable) -> None:
    limits = UsageLimits(tokens_per_minute=120, cost_per_month=0.5)
    assert count(table, "2026-11-16T10:01:00", limits) is None
    add(table, row())
    assert count(table, "2026-11-16T10:01:30", limits) == "120 tokens per minute"
    assert count(table, "2026-11-16T10:02:00", limits) is None
    add(table, row())
    assert count(table, "2026-11-16T10:03:00", limits) == "$0.5 per month"
    assert count(table, "2026-11-30T23:59:59", limits) == "$0.5 per month"
    assert count(table, "2026-12-01T00:00:00", limits) is None


def test_a_refused_request_is_not_counted_and_says_how_long_to_wait(table: UsageTable) -> None:
    limits = UsageLimits(requests_per_month=1)
    one = [CountedLimits("anna", limits)]
    assert count(table, "2026-11-30T23:00:00", limits) is None
    for _ in range(3):
        used_up = asyncio.run(table.count_request(one, at("2026-11-30T23:00:00")))
        assert used_up is not None
        assert used_up.wait_s == 3600


def test_windows_do_not_pile_up(table: UsageTable) -> None:
    limits = UsageLimits(requests_per_minute=1_000)
    for hour in range(10):
        for minute in range(0, 60, 6):
            assert count(table, f"2026-11-16T{hour:02}:{minute:02}", limits) is None
    asyncio.run(table.delete_old_windows(at("2026-11-16T09:54")))
    rows = table._database.write_now(
        lambda c: c.execute("SELECT count(*) FROM usage_windows").fetchone()[0]
    )
    assert rows <= 13


def test_the_command_prints_a_table_and_json(
    table: UsageTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(table, row(), row("ben\n\x1b[31m", cost=None))
    assert main(["usage", "--by", "user,model", "--data", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    head, first, second, note = printed.splitlines()
    assert head.split() == [
        "user", "model", "answers", "input", "cached", "output", "reasoning", "cost",
    ]  # fmt: skip
    assert first.split() == ["anna", "openai:gpt-5", "1", "100", "0", "20", "5", "$0.2500"]
    assert second.endswith("$0.0000+")
    assert "\x1b" not in printed
    assert note == "+ the cost of 1 answer is not known"
    assert main(["usage", "--by", "model", "--json", "--data", str(tmp_path)]) == 0
    fields = msgspec.json.decode(capsys.readouterr().out)
    assert (fields["model"], fields["answers"], fields["unpriced"]) == ("openai:gpt-5", 2, 1)


def test_the_command_refuses_what_it_does_not_know(
    tmp_path: Path, table: UsageTable, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["usage", "--by", "salary", "--data", str(tmp_path)]) == 1
    assert "salary" in capsys.readouterr().err
    assert main(["usage", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no usage so far\n"


def test_every_stored_answer_has_one_row(tmp_path: Path) -> None:
    async def main_() -> None:
        async with served(scripted(turn(say("Yes."), tokens(7, 3))), tmp_path) as site:
            await site.ask("Really?")
            await site.idle()
            table = UsageTable(site.service.database)
            (total,) = table.sum_up(["user", "door", "name", "model", "outcome"])
            assert total.group == ("local", "headrace", "default", "openai-chat:test", "end_turn")
            assert (total.answers, total.input_tokens, total.output_tokens) == (1, 7, 3)

    asyncio.run(main_())
