"""Records of many runs are appended together, and the more of them come, the longer one waits."""

from __future__ import annotations

import asyncio

from headrace.events import Record, TextDelta
from headrace.rehearsal.clock import run_virtual
from headrace.server.storage.log.batch import Batch, encode_batch
from headrace.server.storage.log.batch_writer import BatchWriter

GATHER_S, APPEND_S = 0.002, 0.003


class _Log:
    """Appends in `APPEND_S`, and notes what it was given and how long each record waited."""

    def __init__(self) -> None:
        self.appends: list[list[Batch]] = []
        self.waits_s: list[float] = []
        self.writer = BatchWriter(self._append, "the test", GATHER_S)

    async def _append(self, batches: list[Batch]) -> list[Exception | None]:
        await asyncio.sleep(APPEND_S)
        self.appends.append(batches)
        return [None] * len(batches)

    def put(self, run_id: str, seq: int) -> None:
        loop = asyncio.get_running_loop()
        put_at_s = loop.time()

        def done(error: Exception | None) -> None:
            assert error is None
            self.waits_s.append(loop.time() - put_at_s)

        record = Record(seq, 1, TextDelta(part=0, text="x"))
        self.writer.put(encode_batch(run_id, 0, [record]), done)


def test_a_record_alone_waits_for_the_short_time():
    async def main() -> None:
        log = _Log()
        for seq in range(1, 6):
            log.put("run", seq)
            await asyncio.sleep(0.1)
        assert len(log.appends) == 5
        assert max(log.waits_s) < GATHER_S + APPEND_S + 0.001

    run_virtual(main())


def test_a_crowded_log_is_appended_to_less_often_and_nothing_waits_long():
    runs, rounds = 4, 200

    async def main() -> None:
        log = _Log()
        for seq in range(1, rounds + 1):
            for number in range(runs):
                log.put(f"run {number}", seq)
            await asyncio.sleep(0.001)
        await log.writer.close()
        assert len(log.waits_s) == runs * rounds
        # Without the longer wait it would be one for each 3 ms.
        assert len(log.appends) < rounds / 8
        assert max(log.waits_s) < 0.02
        # Whoever is appended later follows.
        for number in range(runs):
            mine = [b for batches in log.appends for b in batches if b.run_id == f"run {number}"]
            assert [b.first_seq for b in mine[1:]] == [b.last_seq + 1 for b in mine[:-1]]
        # And then it is quiet again.
        before = len(log.waits_s)
        for _ in range(2):
            await asyncio.sleep(0.1)
            log.put("run", 1)
        await asyncio.sleep(0.1)
        assert log.waits_s[before + 1] < GATHER_S + APPEND_S + 0.001

    run_virtual(main())
