"""Writes that wait, and how long the current one takes, are told while the storage is slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

from starlette.testclient import TestClient

from headrace.events import Record, TextDelta
from headrace.rehearsal.script import say, turn
from headrace.server.storage.log.batch import Batch, encode_batch
from headrace.server.storage.log.batch_writer import BatchWriter
from tests.server.serving import scripted
from tests.server.users import client_of

NAMES = ("headrace_waiting_writes", "headrace_log_lag_seconds")


def read(client: TestClient) -> list[float]:
    lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines())
    return [float(lines[name]) for name in NAMES]


def test_a_slow_disk_shows_in_the_metrics(tmp_path: Path) -> None:
    with client_of(scripted(turn(say("Hi."))), tmp_path) as client:
        database = client.app.state.service.database  # type: ignore[attr-defined]
        gate, is_writing = threading.Event(), threading.Event()

        def block(_: object) -> None:
            is_writing.set()
            gate.wait(30)

        jobs = [database.submit(block)]
        assert is_writing.wait(30)
        jobs += [database.submit(lambda _: None) for _ in range(3)]
        waiting, lag_s = read(client)
        assert waiting >= 3
        while read(client)[1] <= lag_s:
            pass
        gate.set()
        for job in jobs:
            job.result(30)
        while read(client) != [0, 0]:
            pass


def test_a_slow_database_shows_in_the_queue_of_the_log() -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def write(batches: Sequence[Batch]) -> list[Exception | None]:
            await gate.wait()
            return [None] * len(batches)

        writer = BatchWriter(write, "the test", 0.0)
        batch = encode_batch("run", 0, [Record(1, 1, TextDelta(part=0, text="x"))])
        appended: list[Exception | None] = []
        writer.put(batch, appended.append)
        while not writer.lag_s:
            await asyncio.sleep(0.001)
        writer.put(batch, appended.append)
        assert writer.waiting == 1
        before = writer.lag_s
        await asyncio.sleep(0.01)
        assert writer.lag_s > before
        gate.set()
        while len(appended) < 2:
            await asyncio.sleep(0.001)
        await writer.close()
        assert (writer.waiting, writer.lag_s) == (0, 0.0)

    asyncio.run(main())
