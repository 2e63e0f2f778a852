"""A run that is stopped after any of its records goes on from there, in another process."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence

import pytest

from headrace import events as ev
from headrace.events import Record
from headrace.rehearsal.clock import run_virtual
from tests.engine.resume.scenes import (
    SCENE_DIALECTS,
    SCENES,
    Player,
    Scene,
    check_log,
    check_started_once,
    through_json,
)

# How often each continued run is stopped and continued once more.
_SECOND_STOPS = int(os.environ.get("HEADRACE_SOAK_STOPS", "2"))
_TERMINALS = (ev.RunFinished, ev.RunFailed)


def _resume(scene: Scene, dialect: str, records: Sequence[Record]) -> tuple[Player, list[Record]]:
    player = Player(scene, dialect)
    return player, run_virtual(player.resume(through_json(records)))


def _check(player: Player, before: Sequence[Record], after: Sequence[Record]) -> None:
    assert list(after[: len(before)]) == list(before)
    check_log(after, player.dialect)
    check_started_once(before, after, player.world)


@pytest.mark.parametrize(("name", "dialect"), SCENE_DIALECTS)
def test_a_run_goes_on_after_any_record(
    name: str, dialect: str, record_property: Callable[[str, object], None]
) -> None:
    scene = SCENES[name]
    chance = random.Random(f"{name} {dialect}")
    first = Player(scene, dialect)
    whole = run_virtual(first.start())
    check_log(whole, dialect)
    check_started_once([], whole, first.world)
    first.check_requests()
    end = whole[-1].event
    stops = 0
    for stop in range(1, len(whole)):
        before = whole[:stop]
        player, after = _resume(scene, dialect, before)
        _check(player, before, after)
        player.check_requests()
        assert type(after[-1].event) is type(end)
        stops += 1
        for _ in range(_SECOND_STOPS):
            again = chance.randrange(stop + 1, len(after))
            player, twice = _resume(scene, dialect, after[:again])
            _check(player, after[:again], twice)
            stops += 1
    record_property("summary", f"stopped and resumed, {name}, {dialect}: {stops}")
