"""Frames fold to the event, over authored, invented, recorded and played streams, cut anywhere
and ended any way."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.engine import RunLimits
from headrace.events import Record
from headrace.messages import fold
from headrace.outcome import END_TURN, abort_reason
from headrace.projections.ux import (
    MessageEvent,
    UXFrame,
    UXProjection,
    decode_frame,
    encode_frame,
    to_event,
)
from headrace.testing import ScriptedTransport, run_virtual
from headrace.wire.decode import decode
from tests.authored import Stream
from tests.corpus.recorded import FRAMINGS, read, rows
from tests.dialect_streams import ANY_STREAM
from tests.engine.play import RUNS, Bench, agent_for, clock
from tests.phases.ux_order import check_ux
from tests.phases.ux_runs import CLOSES, runs

ENDINGS: list[list[ev.Event]] = [
    [],
    [ev.TurnFailed(category="network", message="gone")],
    [ev.RunFinished(abort_reason("cancelled"))],
    [ev.RunFinished(abort_reason("cancelled")), ev.RunClosed("committed", "m")],
    [ev.RunFailed(category="interrupted", message="stopped"), ev.RunClosed("interrupted", "m")],
]
_MAX_PREFIXES = 6


def frames_of(records: list[Record]) -> list[UXFrame]:
    projection = UXProjection("event")
    frames = [frame for record in records for frame in projection.feed(record)]
    return [*frames, *projection.close()]


def check(records: list[Record]) -> MessageEvent:
    """In order, also as bytes; and the event is the stored message's."""
    frames = [decode_frame(encode_frame(frame)) for frame in frames_of(records)]
    event = check_ux(frames)
    assert check_ux(frames_of(records)) == to_event(fold(records), event_id="event")
    return event


def records_of(data: bytes, framing: str = "sse") -> list[Record]:
    records = decode([data], framing=framing)
    return [Record(r.seq, r.seq * 37, r.event, r.path, r.step) for r in records]


def ended(records: list[Record], ending: list[ev.Event]) -> list[Record]:
    """The records and what ends them, unless they have ended."""
    if not records or isinstance(records[-1].event, ev.TurnFinished | ev.TurnFailed):
        return records
    seq = len(records)
    more = [Record(seq + n, (seq + n) * 37, event) for n, event in enumerate(ending, 1)]
    return records + more


@given(ANY_STREAM, st.data())
def test_any_prefix_that_ends_any_way_folds_to_its_event(
    stream: Stream, data: st.DataObject
) -> None:
    records = records_of(stream.data, framing=stream.framing)
    cut = data.draw(st.integers(0, len(records)))
    check(ended(records[:cut], data.draw(st.sampled_from(ENDINGS))))


@given(runs())
def test_any_run_folds_to_its_event(records: list[Record]) -> None:
    check(records)


@given(ANY_STREAM)
def test_frames_say_what_the_records_say(stream: Stream) -> None:
    records = records_of(stream.data, framing=stream.framing)
    said = [r.event.text for r in records if isinstance(r.event, ev.TextDelta)]
    frames = frames_of(records)
    shown = [getattr(f, "text_delta", "") for f in frames if type(f).__name__ == "TextPiece"]
    # A bracket may wait for the next delta, in case it begins a status marker. With several
    # outputs it then comes after what the others say.
    assert sorted("".join(shown)) == sorted("".join(said))


@pytest.mark.skipif(not rows(), reason="the recorded streams are not here")
def test_every_recorded_stream_and_its_prefixes_fold_to_their_events() -> None:
    chance = random.Random(3)
    for row in rows():
        records = records_of(read(row), FRAMINGS[row["framing"]])
        check(records)
        for _ in range(_MAX_PREFIXES):
            cut = chance.randrange(len(records) + 1)
            check(ended(records[:cut], chance.choice(ENDINGS)))


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("dialect", ["chat", "anthropic", "responses"])
def test_a_played_run_folds_to_its_event_wherever_it_is_cut(name: str, dialect: str) -> None:
    async def main() -> list[Record]:
        transport = ScriptedTransport(RUNS[name](), dialect=dialect)
        agent = agent_for(dialect, transport, Bench(), RunLimits())
        async with agent.run("Go.", clock=clock()) as run:
            await run.wait()
        return run.records_so_far

    records = run_virtual(main())
    for cut in range(1, len(records) + 1):
        check(records[:cut])
    for closes in CLOSES:
        seq, at_ms = len(records), records[-1].at_ms
        check([*records, *(Record(seq + 1, at_ms, event) for event in closes)])


@given(runs())
def test_a_projection_that_starts_again_gives_the_same_bytes(records: list[Record]) -> None:
    """A client that resumes is served by another projection of the same records."""
    assert list(map(encode_frame, frames_of(records))) == list(
        map(encode_frame, frames_of(deepcopy(records)))
    )


PIECES = st.lists(
    st.sampled_from(["Hello ", "[STATUS: Looking]", "[STA", "TUS: Looking]", "`", "\n", "x"]),
    max_size=6,
)


@given(st.sampled_from(["text", "reasoning"]), PIECES, PIECES, st.data())
def test_restored_text_folds_to_its_event(
    kind: str, before: list[str], missing: list[str], data: st.DataObject
) -> None:
    whole = ["Begin ", *before, *missing]
    # Redaction holds back what may become a secret, so that deltas may follow.
    cut = data.draw(st.integers(1, len(whole)))
    restored, after = whole[:cut], whole[cut:]
    is_text = kind == "text"
    place: dict[str, Any] = {"part": 0, "output": 0, "item": 0}
    delta = ev.TextDelta if is_text else ev.ReasoningDelta
    events: list[ev.Event] = [
        ev.TurnStarted(dialect="responses"),
        ev.OutputStarted(0, "assistant"),
        ev.TextStarted(**place) if is_text else ev.ReasoningStarted(**place),
        *(delta(0, text) for text in before),
        ev.FrameSkipped(reason="broken", data="{", size=1),
        ev.PartRestored(0, "".join(restored)),
        *(delta(0, text) for text in after),
        ev.TextFinished(0) if is_text else ev.ReasoningFinished(0),
        ev.OutputFinished(0, END_TURN),
        ev.TurnFinished(reason=END_TURN, skipped_frames=1),
    ]
    records = [Record(seq, seq * 37, event) for seq, event in enumerate(events, 1)]
    for end in range(5, len(records) + 1):
        check(records[:end])
