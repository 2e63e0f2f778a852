"""Runs on recorded streams that are stopped anywhere and continued from their encoded log."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import Agent
from headrace.events import Record
from headrace.messages import Message, fold
from headrace.recording.replay import ReplayTransport
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import say, turn
from headrace.transport.retry import NEVER
from headrace.transport.transport import ByteStream, HTTPCall
from tests.corpus import recorded
from tests.engine.play import MODELS, check_next_request, clock
from tests.engine.resume.scenes import check_one_level, through_json

pytestmark = pytest.mark.shared(recorded.MANIFEST)

APIS = {"openai-chat": "chat", "anthropic": "anthropic", "openai-responses": "responses"}
# Items are sent back as the provider has sent them. In these streams they differ from its own
# published types: a key too much, and one that is missing.
_UNPUBLISHED = ("ResponseOutputItemCompactionDone.sse", "responses_tool_calling_async_stream.sse")
# How often the run of each stream is stopped.
_STOPS = int(os.environ.get("HEADRACE_SOAK_STOPS", "4"))


class FirstRecorded:
    """Answers the first call with a recorded stream, unless the run has it, and later ones with a
    script."""

    def __init__(self, data: bytes, dialect: str, *, is_known: bool) -> None:
        self._first = None if is_known else ReplayTransport([data], speed=None)
        self._later = ScriptedTransport(lambda _: turn(say("Done.")), dialect=dialect)

    async def open(self, call: HTTPCall) -> ByteStream:
        first, self._first = self._first, None
        return await (first or self._later).open(call)

    async def aclose(self) -> None:
        """Nothing is open."""


def _play(row: dict[str, Any], before: Sequence[Record] = ()) -> list[Record]:
    dialect = APIS[row["api"]]
    is_known = any(isinstance(record.event, ev.TurnFinished) for record in before)
    agent: Agent[Any] = Agent(
        MODELS[dialect],
        transport=FirstRecorded(recorded.read(row), dialect, is_known=is_known),
        api_key="k",
        policy=NEVER,
    )

    async def main() -> list[Record]:
        if before:
            run = agent.resume(before, input="Go.", clock=clock())
        else:
            run = agent.run("Go.", run_id="r1", clock=clock())
        async with run:
            await run.wait()
        return list(run.records_so_far)

    return run_virtual(main())


@pytest.mark.parametrize("api", APIS)
def test_a_recorded_run_goes_on_after_any_record(
    api: str, record_property: Callable[[str, object], None]
) -> None:
    stops = 0
    streams = [row for row in recorded.rows(api) if row["framing"] == "sse"]
    for row in streams:
        chance = random.Random(row["file"])
        whole = _play(row)
        # The first records, the last ones, and some in between.
        places = {1, 2, len(whole) - 1, *(chance.randrange(1, len(whole)) for _ in range(_STOPS))}
        for stop in sorted(place for place in places if place < len(whole)):
            before = whole[:stop]
            after = _play(row, through_json(before))
            assert after[:stop] == before
            assert [record.seq for record in after] == list(range(1, len(after) + 1))
            check_one_level(after, is_over=True)
            message = fold(after)
            assert (message.finish is None) != (message.error is None), row["file"]
            if not row["file"].endswith(_UNPUBLISHED):
                check_next_request([Message.user("Go."), message], APIS[api])
            stops += 1
    record_property("summary", f"stopped and resumed, {len(streams)} streams, {api}: {stops}")
