"""Pauses before a worker is started again."""

from __future__ import annotations

from headrace.server.workers.restart_pauses import RestartPauses


def test_pauses_double_up_to_a_limit() -> None:
    pauses = RestartPauses()
    found = [pauses.note_end(0.0) for _ in range(100)]
    assert found[:4] == [0.2, 0.4, 0.8, 1.6]
    assert found[-1] == 30.0
    assert found == sorted(found)
    assert pauses.failures == 100


def test_a_worker_that_has_served_for_a_while_begins_anew() -> None:
    pauses = RestartPauses()
    for _ in range(4):
        pauses.note_end(5.0)
    assert pauses.note_end(60.0) == 0.2
    assert pauses.failures == 1
