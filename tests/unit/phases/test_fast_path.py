"""Repeated deltas take the fast path of the phase tracker, with the same notices."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import Event, Record
from headrace.outcome import END_TURN
from headrace.phases import Notice, PhaseTracker

PATHS: tuple[tuple[str, ...], ...] = ((), ("c",))
EVENTS = st.one_of(
    st.builds(ev.ReasoningDelta, st.sampled_from((0, 2)), st.just("a")),
    st.builds(ev.ReasoningDelta, st.sampled_from((0, 2)), st.just("bc")),
    st.builds(ev.TextDelta, st.sampled_from((1, 3)), st.just("d")),
    st.builds(ev.OutputStarted, st.sampled_from((0, 1))),
    st.builds(ev.ReasoningStarted, st.just(0), output=st.just(0), item=st.just(0)),
    st.builds(ev.TextStarted, st.just(1), output=st.just(0), item=st.just(1)),
    st.builds(ev.ReasoningStarted, st.just(2), output=st.just(1), item=st.just(2)),
    st.builds(ev.TextStarted, st.just(3), output=st.just(1), item=st.just(3)),
    st.builds(
        ev.ToolCallStarted,
        st.just(4),
        output=st.just(0),
        item=st.just(4),
        call_id=st.just("c"),
        name=st.just("search"),
    ),
    st.builds(ev.OutputFinished, st.sampled_from((0, 1)), st.just(END_TURN)),
    st.just(ev.TurnFinished(reason=END_TURN)),
    st.builds(
        ev.TurnStarted,
        dialect=st.just("chat"),
        outputs=st.sampled_from(("candidates", "successive")),
    ),
)


class SlowTracker(PhaseTracker):
    """The tracker without its fast path."""

    def feed(self, record: Record) -> list[Notice]:
        self._kind = None
        return super().feed(record)


@given(
    st.lists(st.tuples(EVENTS, st.sampled_from(PATHS)), max_size=60),
    st.sampled_from(("transition", "phase")),
)
def test_the_notices_are_those_of_the_slow_path(
    events: list[tuple[Event, tuple[str, ...]]], mode: Any
) -> None:
    fast, slow = PhaseTracker(mode), SlowTracker(mode)
    starts: list[tuple[Event, tuple[str, ...]]] = [
        (event, path)
        for path in PATHS
        for event in (
            ev.TurnStarted(dialect="chat"),
            ev.OutputStarted(0),
            ev.ReasoningStarted(0, output=0, item=0),
            ev.TextStarted(1, output=0, item=1),
        )
    ]
    for seq, (event, path) in enumerate([*starts, *events], 1):
        record = Record(seq, seq, event, path)
        assert fast.feed(record) == slow.feed(record)
        assert [fast.stats(n, path) for n in (0, 1)] == [slow.stats(n, path) for n in (0, 1)]
    assert fast.close() == slow.close()


def test_repeated_deltas_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    find = PhaseTracker._find

    def count(self: PhaseTracker, path: tuple[str, ...], part: int) -> Any:
        searched.append(part)
        return find(self, path, part)

    monkeypatch.setattr(PhaseTracker, "_find", count)
    tracker = PhaseTracker()
    events: list[Event] = [
        ev.TurnStarted(dialect="chat"),
        ev.OutputStarted(0),
        ev.ReasoningStarted(0, output=0, item=0),
        *[ev.ReasoningDelta(0, "a")] * 50,
        ev.TextStarted(1, output=0, item=1),
        *[ev.TextDelta(1, "b")] * 50,
    ]
    for seq, event in enumerate(events, 1):
        tracker.feed(Record(seq, seq, event))
    assert searched == [0, 1]


def test_counters_that_somebody_holds_grow_with_every_delta() -> None:
    tracker = PhaseTracker()
    events: list[Event] = [
        ev.TurnStarted(dialect="chat"),
        ev.OutputStarted(0),
        ev.ReasoningStarted(0, output=0, item=0),
        *[ev.ReasoningDelta(0, "ab")] * 5,
    ]
    for seq, event in enumerate(events, 1):
        tracker.feed(Record(seq, seq, event))
    stats = tracker.stats(0)
    assert stats is not None
    for count in range(6, 9):
        assert (stats.reasoning_deltas, stats.reasoning_chars) == (count - 1, 2 * count - 2)
        tracker.feed(Record(count, count, ev.ReasoningDelta(0, "ab")))
    assert stats is tracker.stats(0)
