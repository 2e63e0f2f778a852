"""The words of a sentence take the fast path of the thinking projection, with the same frames."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import Event, Record
from headrace.outcome import END_TURN
from headrace.projections.thinking import ThinkingFrame, ThinkingProjection
from headrace.status.reasoning_reader import ReasoningReader

STARTS: list[Event] = [
    ev.TurnStarted(dialect="chat"),
    ev.OutputStarted(0),
    ev.ReasoningStarted(0, output=0, item=0),
    ev.ReasoningStarted(1, output=0, item=1),
    ev.TextStarted(2, output=0, item=2),
]
ENDS: list[Event] = [
    ev.ReasoningFinished(0),
    ev.ReasoningFinished(1),
    ev.TextFinished(2),
    ev.OutputFinished(0, END_TURN),
    ev.TurnFinished(reason=END_TURN),
]
PIECES = st.sampled_from(
    [
        *(" Let me", " check", " the", " gauge", " I need to", " compare", " levels", " 3", "14"),
        *(
            ".",
            ". ",
            "?!",
            '."',
            "\n",
            " ",
            "  ",
            "。",
            "！",
            "e.g.",
            "**",
            "**Plan**",
            "# Title",
            "",
        ),
        *("[", "[STATUS:", " Reading the log", "]", "]  ", "`", "```", '"', "x" * 90),
    ]
)
EVENTS = st.one_of(
    st.builds(ev.ReasoningDelta, st.sampled_from((0, 0, 0, 0, 1)), PIECES),
    st.builds(ev.TextDelta, st.just(2), PIECES),
    st.just(ev.InputRequested(request_id="q", call_id="c", name="search", kind="approval")),
)


class SlowProjection(ThinkingProjection):
    """The projection without its fast path."""

    def feed(self, record: Record) -> list[ThinkingFrame]:
        self._read_words()
        self._plain_part = -1
        return super().feed(record)


def create_records(events: list[Event], *, step_ms: int = 300) -> list[Record]:
    return [
        Record(seq, seq * step_ms, event, ("c",) if isinstance(event, ev.InputRequested) else ())
        for seq, event in enumerate([*STARTS, *events, *ENDS], 1)
    ]


@given(st.lists(EVENTS, max_size=120), st.sampled_from((None, 0, 40)))
def test_the_frames_are_those_of_the_slow_path(events: list[Event], max_chars: int | None) -> None:
    fast = ThinkingProjection(max_thinking_chars=max_chars)
    slow = SlowProjection(max_thinking_chars=max_chars)
    for record in create_records(events):
        assert fast.feed(record) == slow.feed(record)
    assert fast.close() == slow.close()


def test_the_words_of_a_sentence_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    feed = ReasoningReader.feed

    def count(self: ReasoningReader, text: str, start: int = 0) -> object:
        read.append(text)
        return feed(self, text, start)

    monkeypatch.setattr(ReasoningReader, "feed", count)
    sentence = [" Let me", *[" word"] * 40, " here", ".", " Then"]
    events: list[Event] = [ev.ReasoningDelta(0, word) for word in sentence]
    projection = ThinkingProjection()
    for record in create_records(events):
        projection.feed(record)
    # The first word, and all others when one shows that the stop before it ends a sentence.
    assert read == [" Let me", "".join(sentence[1:])]


def test_a_limited_number_of_words_waits_to_be_read() -> None:
    projection = ThinkingProjection(max_thinking_chars=10)
    waiting: list[int] = []
    for record in create_records([ev.ReasoningDelta(0, " word")] * 500):
        projection.feed(record)
        waiting.append(len(projection._words) + len(projection._thoughts))
    assert 32 < max(waiting) < 100
