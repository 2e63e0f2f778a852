"""What each event says in its row."""

from __future__ import annotations

from typing import get_args

import pytest

from headrace import events
from headrace.cli.terminal.event_text import describe_event, usage_words
from headrace.cli.terminal.output import Style
from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.outcome import END_TURN, other_reason
from headrace.usage import Usage

USAGE = Usage(
    input_tokens=1200, cached_input_tokens=1000, output_tokens=7, reasoning_tokens=3, cost=0.5
)
CONTENT = (
    TextContent("a"),
    JSONContent({"b": 1}),
    ImageContent(media_type="image/png", data="QQ=="),
    FileContent(media_type="text/plain", name="n.txt", url="http://x"),
)

ROWS: list[tuple[events.Event, str]] = [
    (events.TextDelta(0, "a\nb"), "a\nb"),
    (events.TextDelta(0, "  \n"), "␣␣\n"),
    (events.ReasoningDelta(0, " hm"), " hm"),
    (events.ToolCallArgsDelta(0, '{"a'), '{"a'),
    (events.TurnStarted(dialect="chat", model="m", response_id="r"), "chat · m · r"),
    (events.OutputStarted(1), "output 1 · assistant"),
    (events.OutputFinished(0, END_TURN, "stop"), "output 0 · end_turn (stop)"),
    (events.OutputFinished(0, END_TURN, "end_turn"), "output 0 · end_turn"),
    (events.OutputFinished(0, other_reason("odd"), "odd"), "output 0 · other(odd)"),
    (events.OutputFinished(0), "output 0 · broken off"),
    (events.ReasoningStarted(part=0, output=0, item=0), ""),
    (
        events.ReasoningStarted(
            part=0, output=2, item=0, item_id="rs", kind="summary", summary_index=1
        ),
        "summary 1 · output 2 · rs",
    ),
    (events.ReasoningFinished(0), ""),
    (events.ReasoningFinished(0, "s" * 30), "signed " + "s" * 24 + "…"),
    (
        events.ReasoningRedacted(part=0, output=0, item=0, data="x" * 1234),
        "1,234 characters for the provider alone",
    ),
    (events.TextStarted(part=0, output=0, item=0, is_refusal=True, channel="c"), "refusal · c"),
    (events.TextFinished(0), ""),
    (
        events.ToolCallStarted(
            part=0, output=1, item=0, call_id="c1", name="f", executor="provider"
        ),
        "f · run by the provider · output 1 · c1",
    ),
    (events.ToolCallFinished(part=0, call_id="c1", name="f", args={}, raw=""), "f {}"),
    (events.ToolCallFinished(part=0, call_id="c1", name="f", args=[1], raw="[1]"), "f [1]"),
    (
        events.ToolCallMalformed(part=0, call_id="c1", name="f", raw="{", error="cut"),
        "f: cut · {",
    ),
    (events.ToolActivity(part=0, call_id="c1", status="searching"), "searching"),
    (
        events.ToolActivity(part=0, call_id="c1", status="searching", detail={"q": 1}),
        'searching · {"q":1}',
    ),
    (
        events.ToolOutput(part=0, output=0, item=0, call_id="c1", content=CONTENT, is_error=True),
        'error: a · {"b":1} · image/png · 4 characters of base64 · n.txt · text/plain · http://x',
    ),
    (events.ToolOutput(part=0, output=0, item=0, call_id="c1", content=()), "nothing"),
    (
        events.MediaProduced(part=0, output=0, item=0, media_type="image/png", url="http://x"),
        "image/png · http://x",
    ),
    (events.OpaqueItem(part=0, output=0, item=0, kind="odd", data='{"a":1}'), 'odd {"a":1}'),
    (events.PartSealed(0, "encrypted", "abc"), "encrypted abc"),
    (events.CitationAdded(title="T", ref="http://x", quote="q"), "T · http://x · “q”"),
    (
        events.TurnFinished(reason=END_TURN, raw_reason="stop", usage=USAGE, skipped_frames=1),
        "end_turn · 1,200 tokens in (1,000 cached) · 7 out (3 reasoning) · cost $0.5"
        " · 1 unreadable frame skipped",
    ),
    (
        events.TurnFinished(
            reason=END_TURN, usage=Usage(output_tokens=7, cost=0.00042, is_estimated=True)
        ),
        "end_turn · 7 tokens out · cost ~$0.00042 · estimated",
    ),
    (
        events.TurnFinished(reason=END_TURN, usage=Usage(output_tokens=7, cost=12.5)),
        "end_turn · 7 tokens out · cost $12.50",
    ),
    (events.TurnFinished(reason=END_TURN), "end_turn"),
    (
        events.TurnFinished(reason=END_TURN, skipped_frames=2, is_complete=False),
        "end_turn · 2 unreadable frames skipped, so content may be missing",
    ),
    (events.FrameSkipped(reason="no JSON", data="secret", size=1_200), "no JSON · 1,200 bytes"),
    (events.PartRestored(0, "whole"), "5 characters"),
    (
        events.TurnFailed(
            category="rate_limit",
            message="slow down",
            code="429",
            retryable=True,
            retry_after_s=3,
            skipped_frames=2,
        ),
        "rate_limit: slow down (429) · may be tried again after 3 s · 2 unreadable frames skipped",
    ),
    (events.TurnFailed(category="server", message="no"), "server: no"),
    (events.StepStarted(3), '{"step":3}'),
]


@pytest.mark.parametrize(("event", "words"), ROWS)
def test_an_event_in_words(event: events.Event, words: str) -> None:
    assert describe_event(event)[1] == words


def test_the_first_count_says_what_is_counted() -> None:
    assert usage_words(Usage(output_tokens=7)) == "7 tokens out"
    assert usage_words(Usage(input_tokens=0, output_tokens=7)) == "0 tokens in · 7 out"
    assert usage_words(Usage(input_tokens=3)) == "3 tokens in"
    assert usage_words(Usage(input_tokens=1, output_tokens=1)) == "1 token in · 1 out"


def test_every_event_of_a_turn_has_its_words() -> None:
    assert {type(event) for event, _ in ROWS} >= set(get_args(events.TurnEvent))


def test_an_event_from_the_future_shows_its_json() -> None:
    assert describe_event(events.UnknownEvent("new", b'{"type":"new"}')) == (
        Style.PLAIN,
        '{"type":"new"}',
    )


@pytest.mark.parametrize(
    ("event", "style"),
    [
        (events.ReasoningDelta(0, "a"), Style.DIM),
        (events.ToolCallArgsDelta(0, "a"), Style.BOLD),
        (events.TurnFailed(category="server", message="no"), Style.RED),
        (events.TurnFinished(reason=END_TURN), Style.GREEN),
    ],
)
def test_the_style_tells_the_kind(event: events.Event, style: Style) -> None:
    assert describe_event(event)[0] is style
