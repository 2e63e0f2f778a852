"""The writer of a turn: single deltas take the fast path, and the result is that of the journal."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.engine import Middleware, RunView, Terminate
from headrace.engine.journal.journal import Journal
from headrace.engine.journal.run_log import MAX_WAITING, RecordQueue
from headrace.engine.middleware.chain import Chain, MiddlewareFailed
from headrace.events import Record, TurnEvent
from headrace.messages import Assembler
from headrace.outcome import END_TURN

TURN: list[TurnEvent] = [
    ev.TurnStarted(dialect="chat"),
    ev.OutputStarted(0),
    ev.ReasoningStarted(0, output=0, item=0),
    ev.TextStarted(1, output=0, item=1),
    ev.ToolCallStarted(2, output=0, item=2, call_id="c", name="search"),
]
ENDS: list[TurnEvent] = [
    ev.ReasoningFinished(0),
    ev.TextFinished(1),
    ev.ToolCallMalformed(2, call_id="c", name="search", raw="{", error="cut off"),
    ev.OutputFinished(0, END_TURN),
    ev.TurnFinished(reason=END_TURN),
]
FIRST: list[TurnEvent] = [ev.TextDelta(1, "first")]
WORDS = st.text(min_size=1, max_size=3)
MIDDLE = st.one_of(
    st.builds(ev.ReasoningDelta, st.just(0), WORDS),
    st.builds(ev.TextDelta, st.just(1), WORDS),
    st.builds(ev.ToolCallArgsDelta, st.just(2), WORDS),
    st.builds(ev.PartRestored, st.sampled_from((0, 1)), WORDS),
)


class Observer(Middleware):
    def __init__(self, *, skips: bool = False) -> None:
        self.is_passive = self.skips_repeated_deltas = skips
        self.seen: list[Record] = []

    def on_event(self, run: RunView, record: Record) -> None:
        self.seen.append(record)


class Raising(Middleware):
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def on_event(self, run: RunView, record: Record) -> Any:
        if type(record.event) is ev.TextDelta and record.event.text == "last":
            if isinstance(self._answer, BaseException):
                raise self._answer
            return self._answer
        return None


def create_journal(*middleware: Middleware) -> Journal:
    times = iter(range(10_000))
    return Journal(RunView("r", "m"), Chain(middleware), lambda: next(times) // 3, None)


@given(st.lists(st.lists(MIDDLE, min_size=1, max_size=2), max_size=40), st.integers(0, 2))
def test_any_events_give_what_the_journal_gives(
    reads: list[list[TurnEvent]], observers: int
) -> None:
    watching = [[Observer() for _ in range(observers)] for _ in range(2)]
    fast, plain = (create_journal(*some) for some in watching)
    put = fast.create_writer()
    # More deltas of one part than an assembler keeps in pieces.
    many: list[list[TurnEvent]] = [[ev.TextDelta(1, str(n))] for n in range(20)]
    for events in [TURN, *reads, *many, *reads, ENDS]:
        # A delta may come without a list; the writer takes both.
        only = events[0]
        is_bare = len(events) == 1 and isinstance(only, ev.DeltaEvent) and len(only.text) % 2
        assert put(cast("ev.DeltaEvent", only) if is_bare else events) == plain.put(events)
        assert fast.assembler.message() == plain.assembler.message()
    assert fast.records == plain.records
    assert fast.queue.waiting == plain.queue.waiting
    assert [one.seen for one in watching[0]] == [one.seen for one in watching[1]]


def test_single_deltas_of_one_part_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[Record] = []
    feed = Assembler.feed

    def count(self: Assembler, record: Record) -> None:
        folded.append(record)
        feed(self, record)

    monkeypatch.setattr(Assembler, "feed", count)
    journal = create_journal(Observer())
    put = journal.create_writer()
    put(TURN)
    for part, kind in ((0, ev.ReasoningDelta), (1, ev.TextDelta)):
        for _ in range(50):
            put([kind(part, "word ")])
            put(kind(part, "word "))
    assert len(journal.records) == len(TURN) + 200
    assert len(folded) == len(TURN) + 2


def test_an_observer_may_skip_deltas_of_the_same_millisecond() -> None:
    observer = Observer(skips=True)
    journal = create_journal(observer)
    put = journal.create_writer()
    put(TURN)
    for _ in range(30):
        put([ev.TextDelta(1, "word")])
    deltas = [one for one in observer.seen if type(one.event) is ev.TextDelta]
    assert len(deltas) == len({one.at_ms for one in deltas}) == 11


@pytest.mark.parametrize("more", [[], [Observer()]])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [(Terminate("enough"), Terminate), (ValueError("no"), MiddlewareFailed), (3, MiddlewareFailed)],
)
def test_an_error_of_an_observer_is_raised_after_the_delta_was_written(
    answer: Any, expected: type[Exception], more: list[Middleware]
) -> None:
    journal = create_journal(Raising(answer), *more)
    put = journal.create_writer()
    for events in (TURN, FIRST):
        put(events)
    with pytest.raises(expected) as raised:
        put([ev.TextDelta(1, "last")])
    assert journal.assembler.message().text == "firstlast"
    assert raised.type is Terminate or "Raising.on_event" in str(raised.value)


def test_a_process_exit_passes_through_an_observer() -> None:
    put = create_journal(Raising(KeyboardInterrupt())).create_writer()
    for events in (TURN, FIRST):
        put(events)
    with pytest.raises(KeyboardInterrupt):
        put([ev.TextDelta(1, "last")])


def test_a_run_that_nobody_reads_is_not_asked_to_wait() -> None:
    """Otherwise `run.wait()` pauses after every event: 17 µs instead of 3 µs for each."""
    queue = RecordQueue()
    record = Record(1, 0, ev.TextDelta(0, "word"))
    assert queue.put([record] * (MAX_WAITING + 1))
    queue.stop_waiting()
    assert not queue.put_one(record)
    assert not queue.put([record])
    assert not queue.is_full
