"""The status line: sources, ranks, cooldown, and what is never shown."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.outcome import END_TURN, MAX_TOKENS, TOOL_USE
from headrace.status import StatusReader
from headrace.status.reader import COOLDOWN_MS
from headrace.status.sentence import SentenceReader
from headrace.status.tool_phrase import tool_phrase
from tests.phases.excerpts import EXCERPTS
from tests.phases.records import Turn, records


def shown(events: list[ev.Event], pause_ms: int = 3_000) -> list[tuple[str, str]]:
    reader = StatusReader()
    statuses = [s for record in records(events, pause_ms=pause_ms) for s in reader.feed(record)]
    return [(status.source, status.text) for status in statuses]


def thought(*texts: str, pause_ms: int = 3_000) -> list[tuple[str, str]]:
    return shown(Turn().output(0).reasoning(*texts).text("x").end_output().end(), pause_ms)


def test_a_phrase_may_come_in_pieces() -> None:
    assert thought("Let", " me ana", "lyze the require", "ments carefully. ", "So") == [
        ("natural", "Analyze the requirements carefully")
    ]


def test_an_unfinished_phrase_waits_for_its_end() -> None:
    reader = StatusReader()
    events = Turn().output(0).reasoning("Let me check the third row").events
    for record in records(events):
        assert reader.feed(record) == []
    after = ev.Record(9, 9_000, ev.TextStarted(part=1, output=0, item=1))
    assert [s.text for s in reader.feed(after)] == ["Check the third row"]


def test_a_phrase_that_was_cut_is_never_shown() -> None:
    turn = Turn().output(0).reasoning("Let me check the third ro")
    assert shown([*turn.events, ev.OutputFinished(0), *Turn().fail()[1:]]) == []
    turn = Turn().output(0).reasoning("Let me check the third ro")
    assert shown(turn.end_output(0, MAX_TOKENS).end(MAX_TOKENS)) == []


def test_a_number_is_no_end_of_a_sentence() -> None:
    assert thought("Let me divide 3", ".", "14 by 2", ".", "5 again. ") == [
        ("natural", "Divide 3.14 by 2.5 again")
    ]


def test_a_title_a_marker_and_a_phrase() -> None:
    assert thought("**Counting the votes**\n\n", "x [STATUS: reading page 2] ", "y. ") == [
        ("title", "Counting the votes"),
        ("marker", "reading page 2"),
    ]


def test_a_lower_source_waits_for_the_cooldown() -> None:
    texts = (
        "**Counting the votes**\n",
        "Let me add the first column. ",
        "I'll check the total again. ",
    )
    early = thought(*texts, pause_ms=COOLDOWN_MS // 8)
    assert early == [("title", "Counting the votes"), ("natural", "Check the total again")]
    late = thought(*texts, pause_ms=COOLDOWN_MS)
    assert [text for _, text in late] == [
        "Counting the votes", "Add the first column", "Check the total again",
    ]  # fmt: skip


def times(texts: list[tuple[int, str]], ends_at_ms: int) -> list[tuple[int, str]]:
    """When each phrase is shown, of reasoning whose deltas come at these times."""
    reader = StatusReader()
    timed: list[tuple[int, ev.Event]] = [
        (0, ev.ReasoningStarted(part=0, output=0, item=0)),
        *((at_ms, ev.ReasoningDelta(0, text)) for at_ms, text in texts),
        (ends_at_ms, ev.ReasoningFinished(0)),
        (ends_at_ms, ev.TextStarted(part=1, output=0, item=1)),
    ]
    return [
        (at_ms, status.text)
        for seq, (at_ms, event) in enumerate(timed, 1)
        for status in reader.feed(ev.Record(seq, at_ms, event))
    ]


TITLE = (0, "**Counting the votes**\n")
MARKER = (500, "[STATUS: reading page 2] ")


def test_a_marker_that_meets_the_cooldown_is_shown_when_it_ends() -> None:
    shown_first = (0, "Counting the votes")
    words = [(1_999, "so "), (2_000, "it "), (2_500, "goes ")]
    assert times([TITLE, MARKER, *words], 3_000) == [shown_first, (2_000, "reading page 2")]


def test_a_marker_that_meets_the_cooldown_is_shown_at_the_end_of_the_phase() -> None:
    assert times([TITLE, MARKER], 900) == [(0, "Counting the votes"), (900, "reading page 2")]


def test_of_those_that_wait_the_latest_of_the_highest_source_is_shown() -> None:
    later = [(600, "[STATUS: reading page 3] "), (700, "Let me add the first column. ")]
    assert times([TITLE, MARKER, *later], 900) == [
        (0, "Counting the votes"),
        (900, "reading page 3"),
    ]
    title = (800, "\n**Adding them up**\n")
    assert times([TITLE, MARKER, title, (5_000, "x ")], 6_000) == [
        (0, "Counting the votes"),
        (800, "Adding them up"),
    ]


def test_a_tool_replaces_any_at_once() -> None:
    turn = Turn().output(0).reasoning("**Counting the votes**\n")
    turn.call("web_search", {"query": "votes [2024] of the (first) round"}, executor="provider")
    assert shown(turn.end_output(0, TOOL_USE).end(), pause_ms=1) == [
        ("title", "Counting the votes"),
        ("tool", "Searching the web"),
        ("tool", "Searching the web: votes 2024 of the first round"),
    ]


def test_nothing_is_said_twice_within_a_phase_but_again_after_a_tool() -> None:
    same = "Let me check the third row. "
    turn = Turn().output(0).reasoning(same, same).call("f", {}).reasoning(same)
    statuses = shown(turn.end_output().end())
    assert [text for _, text in statuses] == [
        "Check the third row",
        "Using f",
        "Check the third row",
    ]


def test_the_latest_of_one_delta_wins() -> None:
    assert thought("Let me check the third row. Now let me add the columns up. ") == [
        ("natural", "Add the columns up")
    ]


def test_code_and_quotations_are_somebody_elses() -> None:
    assert (
        thought("```\n# First, I'll check the third row.\n```\n", "> Let me check the logs now.\n")
        == []
    )
    assert thought('He said: "I am late. Let me check the third row." ', "Fine. ") == []


def test_only_the_first_candidate_is_listened_to() -> None:
    turn = Turn().output(0).reasoning("Let me check the third row. ")
    turn.output(1).reasoning("Let me look at the fourth row. ")
    assert shown(turn.end_output(0).end_output(1).end()) == [("natural", "Check the third row")]


def test_every_agent_output_is_listened_to() -> None:
    turn = Turn(outputs="successive").output(0).reasoning("Let me check the third row. ")
    turn.end_output(0).output(1).reasoning("Let me look at the fourth row. ")
    statuses = shown(turn.end_output(1, END_TURN).end())
    assert [text for _, text in statuses] == ["Check the third row", "Look at the fourth row"]


def test_nested_runs_say_nothing() -> None:
    reader = StatusReader()
    events = Turn().output(0).reasoning("Let me check the third row. ").end_output().end()
    assert not [s for record in records(events, path=("c",)) for s in reader.feed(record)]


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("web_search", {"query": "tides"}, "Searching the web: tides"),
        ("browser.search", {"queries": ["tides", "x"]}, "Searching the web: tides"),
        ("x_keyword_search", {}, "Searching X"),
        ("google_search", None, "Searching the web"),
        ("file_search", None, "Searching files"),
        ("document_search", None, "Searching files"),
        ("mcp__docs__file_search", None, "Searching files"),
        ("mcp__py__code_interpreter", None, "Running code"),
        ("images_generate", None, "Drawing"),
        ("image_generation", None, "Drawing"),
        ("create_image", None, "Drawing"),
        ("executePython", None, "Running code"),
        ("code_interpreter", {"code": "1"}, "Running code"),
        ("getWeather", {"city": "Oslo"}, "Using get weather: Oslo"),
        ("get_weather", "text", "Using get weather"),
        ("", {}, "Using a tool"),
        ("calculator", {"expression": "2 * (3 + 4)"}, "Calculating"),
    ],
)
def test_tools_have_their_phrases(name: str, args: object, wanted: str) -> None:
    assert tool_phrase(name, args) == wanted


TEXTS = st.lists(
    st.sampled_from([e.text for e in EXCERPTS]) | st.text(max_size=80), min_size=1, max_size=4
)


@given(TEXTS, st.integers(1, 40))
def test_no_status_shows_a_cut_word_or_a_bracket(texts: list[str], size: int) -> None:
    text = " ".join(texts)
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    # Marks are removed, with or without a space in their place.
    flat = "\n".join(
        " ".join(re.sub(r"[*_`#~()\[\]{}<>（）【】]", space, text).split()).casefold()
        for space in (" ", "")
    )
    for source, phrase in thought(*pieces):
        assert not set(phrase) & set("[]"), phrase
        if source == "natural":
            assert not set(phrase) & set("(){}<>"), phrase
            last = phrase.split()[-1].casefold()
            assert re.search(rf"{re.escape(last)}(?![a-z0-9])", flat), phrase


@given(TEXTS, st.data())
def test_sentences_do_not_depend_on_the_cuts(texts: list[str], data: st.DataObject) -> None:
    text = " ".join(texts)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if a < b]
    whole, cut = SentenceReader(), SentenceReader()
    assert [s for part in parts for s in cut.feed(part)] + cut.close() == [
        *whole.feed(text),
        *whole.close(),
    ]


def test_an_endless_sentence_is_not_kept() -> None:
    reader = SentenceReader()
    for _ in range(10_000):
        reader.feed(" word" * 20)
    (sentence,) = reader.close()
    assert len(sentence.text) < 1_000
    assert not sentence.is_whole


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "我需要检查系统中所有模块的配置文件以及环境变量DATABASE_CONNECTION_STRING_PRIMARY是否正确。",
            "检查系统中所有模块的配置文件以及环境变量",
        ),
        (
            "Let me check __init__.py and snake_case_name first. ",
            "Check __init__.py and snake_case_name first",
        ),
        ("Let me\u00a0check the timetable of the ferry. ", "Check the timetable of the ferry"),
        (
            "Let me look at the U.S. census of the year 2020. ",
            "Look at the U.S. census of the year 2020",
        ),
        ("**1. Understand the Goal**\n", "Understand the Goal"),
        ("### 2. Find the cause\n", "Find the cause"),
        (
            "```let x = 1``` is it.\nLet me check the second line of it.\n",
            "Check the second line of it",
        ),
        ("    * I need to check the third row.\n", "Check the third row"),
    ],
)
def test_phrases_are_whole(text: str, wanted: str) -> None:
    assert thought(text)[-1][1] == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Should the tank overflow, the valve opens. ",
        "Reading the manual never hurt anybody at all. ",
        "Checking every row by hand took a whole week. ",
        "Running water reached the village in 1960. ",
        "First test is on Monday morning at nine. ",
        "来自北京的用户一直很多。",
        "我要求退款已经三个星期了。",
    ],
)
def test_statements_are_no_announcements(text: str) -> None:
    assert thought(text) == []


LOOPS = [".", "!", '..."', "?!", "。", "[STATUS: ", "[STATUS:    ", "`", "先", "a. "]


@pytest.mark.parametrize("mark", LOOPS)
def test_what_a_looping_model_writes_costs_no_more_than_its_length(mark: str) -> None:
    """Work is counted in steps of the interpreter, not in time."""
    small, large = (_steps(mark * (n // len(mark))) for n in (2_000, 8_000))
    assert large < 5 * small + 1_000


def _steps(text: str) -> int:
    count = 0

    def trace(*_: object) -> object:
        nonlocal count
        count += 1
        return trace

    reader = SentenceReader()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        for character in text:
            reader.feed(character)
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize("mark", LOOPS)
def test_a_long_delta_is_looked_at_once(mark: str) -> None:
    """It would take hours if every mark were followed to the end."""
    assert isinstance(thought(mark * (100_000 // len(mark))), list)


def test_a_long_name_of_a_tool_is_cut() -> None:
    assert len(tool_phrase("web " * 50_000)) < 80
    assert len(tool_phrase("x" * 200_000)) < 80
    assert tool_phrase("web_search", {"query": "天气（北京）"}) == "Searching the web: 天气 北京"
