"""A server under attack loses nothing of its honest users, and stays small.

`make soak` runs it for an hour, and checks the delay of frames too: other tests run beside the
short form, and would be measured with it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.load.attack import attack

SECONDS = float(os.environ.get("SOAK_ATTACK_SECONDS", "120"))
IS_SOAK = "SOAK_ATTACK_SECONDS" in os.environ
MAX_DELAY_MS = 50.0
MAX_MEMORY_BYTES = 300_000_000
MAX_LOG_BYTES = 1_000_000
MAX_WAL_BYTES = 64 * 1024 * 1024
# All connections of the attackers and the honest users, one more per live answer to its provider,
# and those of the server itself.
MAX_DESCRIPTORS = 2_000 + 2 * 100 + 8 * 10 + 200


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
@pytest.mark.timeout(SECONDS + 300)
def test_a_server_under_attack_loses_nothing_and_stays_small(record_property: Any) -> None:
    figures = attack(SECONDS)
    record_property("summary", "attack:\n" + figures.to_text())
    print(figures.to_text())
    honest = figures.honest
    assert honest.losses == []
    assert honest.answers > 0
    # Every attack was made.
    assert min(figures.attacks.values()) > 0
    assert figures.is_ready
    assert figures.memory_bytes <= MAX_MEMORY_BYTES
    assert figures.descriptors <= MAX_DESCRIPTORS
    assert figures.descriptors_after < 100
    assert figures.log_bytes <= MAX_LOG_BYTES
    assert figures.wal_bytes <= MAX_WAL_BYTES
    if IS_SOAK:
        assert honest.p99_ms <= MAX_DELAY_MS
