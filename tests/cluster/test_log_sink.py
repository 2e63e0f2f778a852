"""A server that has not reached the database in time begins nothing new."""

from __future__ import annotations

import asyncio

from headrace import events as ev
from headrace.events import Event, Record
from headrace.server.runs.live_run import LogSink
from headrace.server.storage.store import RunRow
from tests.server.memory_storage import MemoryLog

RUN = RunRow(
    id="run",
    owner="anna",
    conversation_id="conv",
    parent_id="ask",
    message_id="msg",
    model="test",
    created_ms=1,
    is_live=True,
)


def records(*events: Event) -> list[list[Record]]:
    return [[Record(seq, seq, event)] for seq, event in enumerate(events, 1)]


def test_what_announces_a_tool_waits_and_everything_behind_it() -> None:
    async def main() -> None:
        log, current = MemoryLog(), False
        sink = LogSink(log, RUN, lambda: current)
        stored: list[Exception | None] = []
        text, tool, more = records(
            ev.TextDelta(0, "a"), ev.ToolStarted("call"), ev.TextDelta(0, "b")
        )
        for part in (text, tool, more):
            sink.put(part, stored.append)
        await asyncio.sleep(0.3)
        # What has been said already may still be stored.
        assert (await log.read("run"), stored) == (text, [None])
        appending = asyncio.create_task(sink.append([Record(4, 4, ev.StepStarted(1))]))
        await asyncio.sleep(0.2)
        assert not appending.done()
        current = True
        await appending
        assert await log.read("run") == [*text, *tool, *more, Record(4, 4, ev.StepStarted(1))]
        assert stored == [None] * 3

    asyncio.run(main())


def test_a_server_that_has_its_storage_for_itself_never_waits() -> None:
    async def main() -> None:
        log = MemoryLog()
        sink = LogSink(log, RUN)
        await sink.append([Record(1, 1, ev.ToolStarted("call"))])
        assert len(await log.read("run")) == 1

    asyncio.run(main())
