"""`headrace inspect` and `headrace replay` of runs that are stored in PostgreSQL, or are live in
Valkey."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from headrace.cli.main import main
from tests.cluster.places import SHARED, create_place, to_options
from tests.cluster.test_any_server import slow_agent
from tests.server.serving import served


@pytest.mark.parametrize("kind", SHARED)
def test_a_run_of_a_shared_database_is_inspected_and_replayed(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = create_place(kind)

    async def ask() -> tuple[str, str]:
        async with served(slow_agent(), tmp_path, **place) as site:
            event_id, _, _ = await site.ask("Go.")
            async with site.open("Again.", protocol="ux") as response:
                await response.content.readany()
                # While the run is live.
                words = ["inspect", "--json", "last", *to_options(place)]
                assert await asyncio.to_thread(main, words) == 0
                await response.read()
            return event_id, (await site.service.store.run("local", event_id)).id

    event_id, run_id = asyncio.run(ask())
    live = json.loads(capsys.readouterr().out)
    assert live["has_records"]
    for name in (event_id, run_id, run_id[:14]):
        assert main(["inspect", "--json", name, *to_options(place)]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["name"], shown["has_records"]) == (run_id, True)
    assert main(["replay", "--speed", "max", run_id, *to_options(place)]) == 0
    assert "nine ten" in capsys.readouterr().out


def test_a_run_that_is_not_there_and_a_database_without_tables_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = create_place("postgres")
    options = ["inspect", "run_unknown1", *to_options(place)]
    assert main(options) != 0
    assert "start headrace serve once" in capsys.readouterr().err

    async def open_once() -> None:
        async with served(slow_agent(), tmp_path, **place):
            pass

    asyncio.run(open_once())
    assert main(options) != 0
    assert "it has none" in capsys.readouterr().err
