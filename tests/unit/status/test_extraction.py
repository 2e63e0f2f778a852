"""Status phrases of a whole text, and markers in the text of an answer."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace import events as ev
from headrace.messages import fold
from headrace.projections.thinking import ThinkingProjection, encode_frame
from headrace.projections.ux import UXProjection
from headrace.status import extract_status, parse_status_marker
from headrace.status.answer_text import AnswerText, remove_markers
from tests.phases.records import Turn, records


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("let me analyze the requirements", "Analyze the requirements"),
        ("analyzing code structure", "Analyzing code structure"),
        ("short", None),
        ("", None),
        (
            "Let me check the log file. It is long. I will count the lines of it.",
            "Count the lines of it",
        ),
        ("**Reading the log**\n\nIt is long.", "Reading the log"),
        ("[STATUS: reading] Let me check the third row. ", "Check the third row"),
        ("Should I check the third row?", None),
        ("接下来检查配置文件。", "检查配置文件"),
    ],
)
def test_the_latest_phrase_of_a_text(text: str, status: str | None) -> None:
    assert extract_status(text) == status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("[STATUS: analyzing code structure]", "analyzing code structure"),
        ("a [STATUS: one] b [STATUS:  two ] c", "two"),
        ("[STATUS: one] [STATUS: ]", "one"),
        ("[STATUS: never closed", None),
        ("`[STATUS: code]`", None),
        ("[STATUS: " + "x" * 200 + "]", None),
        ("let me analyze the requirements", None),
    ],
)
def test_the_last_marker_of_a_text(text: str, status: str | None) -> None:
    assert parse_status_marker(text) == status


def test_both_are_public() -> None:
    assert headrace.extract_status is extract_status
    assert headrace.parse_status_marker is parse_status_marker


SAID = (
    "Here. [STATUS: writing it up] It is `[STATUS: code]` and [1] and [STAT\n"
    "```\n[STATUS: x]\n```\n["
)
SHOWN = SAID.replace("[STATUS: writing it up] ", "")


@given(st.lists(st.integers(0, len(SAID)), max_size=8))
def test_no_marker_reaches_the_text_of_an_answer(cuts: list[int]) -> None:
    edges = sorted({0, len(SAID), *cuts})
    pieces = [SAID[a:b] for a, b in pairwise(edges)]
    reader = AnswerText()
    assert "".join(map(reader.feed, pieces)) + reader.close() == SHOWN == remove_markers(SAID)
    events = Turn().output(0).text(*pieces).end_output().end()
    thinking, ux = ThinkingProjection(), UXProjection("m")
    stream = records(events)
    frames = [f for r in stream for f in thinking.feed(r)] + thinking.close()
    payloads = [msgspec.json.decode(encode_frame(f)) for f in frames[:-1]]
    assert "".join(p["content"] for p in payloads if p["type"] == "text_delta") == SHOWN
    shown = [msgspec.to_builtins(f) for r in stream for f in ux.feed(r)]
    last = msgspec.to_builtins(ux.close()[-1])
    assert "".join(f.get("text_delta", "") for f in shown) == SHOWN
    assert last["event"]["segments"][0]["text"] == SHOWN
    assert fold(stream).text == SAID


def test_an_answer_that_is_only_a_marker_is_empty() -> None:
    events = Turn().output(0).text("[STATUS: ", "busy]").end_output().end()
    thinking = ThinkingProjection()
    frames = [f for r in records(events) for f in thinking.feed(r)] + thinking.close()
    assert [msgspec.json.decode(encode_frame(f))["type"] for f in frames[:-1]] == ["done"]


def test_records_that_break_off_lose_no_text() -> None:
    events: list[ev.Event] = Turn().output(0).text("a [STAT").events[:-1]
    for projection in (ThinkingProjection(), UXProjection("m")):
        frames = [f for r in records(events) for f in projection.feed(r)] + projection.close()
        said = "".join(getattr(f, "content", "") or getattr(f, "text_delta", "") for f in frames)
        assert said == "a [STAT"
