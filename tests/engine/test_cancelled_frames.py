"""Frames of the thinking protocol for runs that a person cancelled, on records that the engine
wrote."""

from __future__ import annotations

import pytest

from headrace.events import Record, TextDelta
from headrace.projections.thinking import ThinkingFrame, ThinkingProjection, frame_type
from headrace.projections.thinking import frame as fr
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.transport import ScriptedTransport
from tests.engine.play import MODELS, RUNS, Bench, agent_for, clock
from tests.phases.order import check_frames


def cancelled_at(place: int, name: str, dialect: str) -> tuple[list[Record], bool]:
    """The records of a run that is cancelled when its record number `place` comes, and whether
    it came."""

    async def main() -> tuple[list[Record], bool]:
        transport = ScriptedTransport(RUNS[name](), dialect=dialect)
        agent = agent_for(dialect, transport, Bench())
        has_come = False
        async with agent.run("Go.", clock=clock()) as run:
            async for record in run.records():
                if record.seq == place:
                    has_come = True
                    run.cancel()
        return run.records_so_far, has_come

    return run_virtual(main())


def frames_of(records: list[Record]) -> list[ThinkingFrame]:
    projection = ThinkingProjection()
    return [f for r in records for f in projection.feed(r)] + projection.close()


@pytest.mark.parametrize("dialect", MODELS)
@pytest.mark.parametrize("name", RUNS)
def test_a_cancel_is_an_error_in_no_frame(name: str, dialect: str) -> None:
    was_inside_text = False
    for place in range(1, 1_000):
        records, has_come = cancelled_at(place, name, dialect)
        frames = frames_of(records)
        check_frames(frames)
        if not has_come:
            break
        kinds = [frame_type(frame) for frame in frames]
        ends = [frame.finish_reason for frame in frames if isinstance(frame, fr.TextEnd)]
        assert "error" not in ends, records
        if kinds[-2] == "cancelled" and isinstance(records[place - 1].event, TextDelta):
            was_inside_text = True
            assert ends[-1] == "cancelled"
    assert was_inside_text
