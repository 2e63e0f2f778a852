"""Leases, fences, inboxes, recovery and control of up to five servers, in virtual time: the real
code of the servers on a simulated database and network, with faults chosen by seeds."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator

import pytest

from headrace.rehearsal.clock import Hang
from tests.cluster.simulation.schedule import Broken, play
from tests.cluster.simulation.world import Rules

SCHEDULES = int(os.environ.get("HEADRACE_SOAK_SCHEDULES", "2000"))
FOUND = (10_815, 41_481, 92_892)
"""Seeds above the short form that have found a fault of the servers."""
_GROUPS = 20
_MOST = 400
"""Most schedules until a broken rule must have been noticed."""
_FIRST = {"begin_checks_key": 790, "commit_checks_epoch": 80, "answers_wake_runs": 300}
"""Where to begin if a rule is seldom needed: shortly before the first seed that needs it."""

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The servers report every fault in their logs, and asyncio what their tasks leave behind."""
    logging.disable(logging.CRITICAL)
    yield
    gc.collect()
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("group", range(_GROUPS))
@pytest.mark.timeout(3600)
def test_no_schedule_loses_doubles_or_confuses_anything(group: int) -> None:
    for seed in range(group, SCHEDULES, _GROUPS):
        try:
            play(seed)
        except (Broken, Hang) as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("seed", FOUND)
def test_a_schedule_that_has_found_a_fault_passes(seed: int) -> None:
    play(seed)


@pytest.mark.parametrize("rule", Rules._fields)
def test_a_rule_that_is_switched_off_is_noticed(rule: str) -> None:
    rules = Rules()._replace(**{rule: False})
    first = _FIRST.get(rule, 0)
    for seed in range(first, first + _MOST):
        try:
            play(seed, rules)
        except Exception:  # noqa: BLE001 (whatever breaks)
            return
    raise AssertionError(f"{_MOST} schedules are fine without {rule}")
