"""The drawn order of frames: what streams make of it, and that nothing in it is untrue."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.thinking import DOCUMENT, FIRST, LAST, ORDER, picture
from docs.watching import frame_structs, type_of
from headrace import events as ev
from headrace.content import ImageContent, JSONContent, TextContent
from headrace.outcome import END_TURN, TOOL_USE, abort_reason
from headrace.projections.thinking import ThinkingFrame, ThinkingProjection, frame_type
from tests.authored import Stream
from tests.corpus.recorded import FRAMINGS, read, rows
from tests.dialect_streams import ANY_STREAM
from tests.phases.records import Turn, records
from tests.property.test_thinking import ENDINGS, ended, records_of

ENDS = ("done", "error", "cancelled")
MADE = ("web_search", "artifact_complete")
Moves = set[tuple[str, str]]


def frames_of(events: list[ev.Record], **options: Any) -> list[ThinkingFrame]:
    projection = ThinkingProjection(**options)
    return [f for record in events for f in projection.feed(record)] + projection.close()


def walk(frames: list[ThinkingFrame]) -> Moves:
    """Take every frame through the table; a move that is not there is a KeyError."""
    state, before, moves, has_thought = FIRST, "", Moves(), False
    for kind in map(frame_type, frames):
        moves.add((state, kind))
        has_thought |= kind == "thinking_start"
        if kind in ENDS:
            assert (state == "summed up") == has_thought
        if kind in MADE:
            assert before == "tool_result"
        state, before = ORDER[state][kind], kind
    assert state == LAST
    return moves


# --- authored examples, which together take every move -----------------------------


def picture_of(part: int) -> ev.Event:
    return ev.MediaProduced(
        part=part, output=0, item=part, media_type="image/png", url="https://x/y.png"
    )


def call_beside(part: int, *beside: ev.Event) -> list[ev.Event]:
    """A call whose arguments become whole while something else goes on."""
    place: dict[str, Any] = {"part": part, "call_id": "c1", "name": "web_search"}
    started = ev.ToolCallStarted(**place, output=0, item=part, executor="provider")
    return [started, *beside, ev.ToolCallFinished(**place, args={"q": "tides"}, raw="{}")]


def thought(part: int) -> list[ev.Event]:
    return [ev.ReasoningStarted(part=part, output=0, item=part), ev.ReasoningDelta(part, "hm")]


def text(part: int) -> list[ev.Event]:
    return [ev.TextStarted(part=part, output=0, item=part), ev.TextDelta(part, "so")]


def turn(*events: ev.Event) -> list[ev.Event]:
    begun: list[ev.Event] = [ev.TurnStarted(dialect="chat"), ev.OutputStarted(0), *events]
    return [*begun, ev.OutputFinished(0, END_TURN), ev.TurnFinished(reason=END_TURN)]


def run_with(content: Any, kind: str, end: ev.Event) -> list[ev.Event]:
    begun = Turn().output(0).reasoning("Let me check the tides at noon. ").call("tides", {"q": 1})
    calling = begun.end_output(0, TOOL_USE).end(TOOL_USE, "tool_calls")
    result = ev.ToolResult(call_id="c1", content=(content,), kind=kind)
    answer = Turn(first_part=9).output(0).text("High", " tide.").end_output().end()
    return [ev.RunStarted("r"), *calling, result, *answer, end]


DONE, CANCELLED = ev.RunFinished(END_TURN), ev.RunFinished(abort_reason("cancelled"))
COMPLETED = ev.ToolActivity(part=0, call_id="c1", status="completed")
EXAMPLES: dict[str, list[ev.Event]] = {
    "an answer": Turn().output(0).text("a", "b").end_output().end(),
    "an answer that broke": Turn().output(0).text("a").fail(),
    "cancelled before anything": [ev.RunStarted("r"), CANCELLED],
    "a search": run_with(JSONContent({"hits": [1]}), "web_search", DONE),
    "an artifact, and it broke": run_with(
        TextContent("x = 1"), "artifact", ev.RunFailed(category="server", message="gone")
    ),
    "an image, and it was cancelled": run_with(
        ImageContent(media_type="image/png", data="QUJD"), "image", CANCELLED
    ),
    "a call beside thinking": turn(*call_beside(0, *thought(1))),
    "a call beside text": turn(*call_beside(0, *text(1))),
    "hidden thinking": turn(ev.ReasoningRedacted(part=0, output=0, item=0, data="x"), *text(1)),
    "a picture in between": turn(picture_of(0), *thought(1), picture_of(2)),
    "a picture beside text": turn(*text(0), picture_of(1)),
    "a request for input": [
        ev.RunStarted("r"),
        *Turn().output(0).text("a").call("pay", {}).end_output(0, TOOL_USE).end(TOOL_USE),
        ev.InputRequested(request_id="q", kind="approval", call_id="c1", name="pay"),
        ev.RunSuspended("input", ("q",)),
        ev.RunResumed(),
        ev.InputAnswered(request_id="q", decision="accepted"),
        ev.ToolResult(call_id="c1", content=(TextContent("ok"),)),
        ev.StepFinished(0),
        ev.UserMessageAdded(content=(TextContent("Hurry."),)),
        *Turn(first_part=9).output(0).text("b").end_output().end(),
        DONE,
    ],
    "a tool that ends beside text": turn(*call_beside(0), *text(1), COMPLETED),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("shape", ["text_delta", "openai"])
def test_an_example_makes_only_moves_that_are_drawn(name: str, shape: str) -> None:
    walk(frames_of(records(EXAMPLES[name]), text_shape=shape))


def test_every_move_that_is_drawn_is_made() -> None:
    made = {move for example in EXAMPLES.values() for move in walk(frames_of(records(example)))}
    assert made == {(state, frame) for state, moves in ORDER.items() for frame in moves}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_example_may_end_anywhere(name: str, ending: str) -> None:
    every = records(EXAMPLES[name])
    for cut in range(len(every)):
        walk(frames_of(ended(every[:cut], ending)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_may_begin_anywhere(name: str) -> None:
    """A reader that missed the beginning gets phases that start and end all the same."""
    every = records(EXAMPLES[name])
    for start in range(len(every)):
        walk(frames_of(every[start:]))


def test_a_move_that_is_not_drawn_is_found() -> None:
    frames = frames_of(records(EXAMPLES["an answer"]))
    with pytest.raises(KeyError, match="text_delta"):
        walk(frames[1:])


# --- streams -----------------------------------------------------------------------


@given(ANY_STREAM, st.data())
def test_any_prefix_that_ends_any_way_makes_only_moves_that_are_drawn(
    stream: Stream, data: st.DataObject
) -> None:
    every = records_of(stream.data, framing=stream.framing)
    cut = data.draw(st.integers(0, len(every)))
    walk(frames_of(ended(every[:cut], data.draw(st.sampled_from(list(ENDINGS))))))


@pytest.mark.skipif(not rows(), reason="the recorded streams are not here")
def test_recorded_streams_make_only_moves_that_are_drawn() -> None:
    for row in rows():
        walk(frames_of(records_of(read(row), FRAMINGS[row["framing"]])))


# --- the table and its picture -------------------------------------------------------


def test_the_table_has_every_frame_and_no_other() -> None:
    drawn = {frame for moves in ORDER.values() for frame in moves}
    assert drawn == {name for kind in frame_structs() if (name := type_of(kind))}
    assert {state for moves in ORDER.values() for state in moves.values()} == {*ORDER, LAST}


def test_the_documents_fields_are_ours() -> None:
    ours = {type_of(kind): kind.__struct_fields__ for kind in frame_structs()}
    for name, fields in DOCUMENT.items():
        assert set(fields) <= set(ours[name])


def test_the_picture_names_every_state_and_every_move_where_it_is_made() -> None:
    root = ElementTree.fromstring(picture())
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    moves = [frame for moves in ORDER.values() for frame in moves]
    assert sorted(word for word in words if word in moves) == sorted(moves)
    assert {*ORDER, LAST} <= set(words)
