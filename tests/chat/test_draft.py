"""Frames in, cues out: what a draft makes of what seldom comes."""

from __future__ import annotations

from typing import Any

from headrace.cli.commands.chat.answer_state import (
    AnswerState,
    DisplayEvent,
    Ended,
    Folded,
    Made,
    Paused,
    Says,
    TakenBack,
    Used,
)
from headrace.cli.commands.chat.step import Other, Thought, Tool
from headrace.cli.commands.chat.wording import tool_fields
from headrace.projections.ux import UXFrame
from headrace.projections.ux import frame as fr
from headrace.projections.ux.segment import (
    MediaSegment,
    MessageEvent,
    OpaqueSegment,
    TextSegment,
)


def _fed(*frames: UXFrame) -> tuple[AnswerState, list[DisplayEvent]]:
    draft = AnswerState()
    return draft, [cue for frame in frames for cue in draft.feed(frame)]


def _text(name: str, *pieces: str, output: int = 0) -> list[UXFrame]:
    added = fr.SegmentAdded("m", TextSegment(id=name, text="", output_index=output))
    return [added, *(fr.TextPiece("m", piece, output) for piece in pieces)]


def _called(name: str = "look") -> UXFrame:
    return fr.ToolCallStarted("m", "c1", name, "", 0, 0, segment_id="m-1")


def test_steps_fold_when_a_text_begins_and_a_text_pauses_when_a_step_does() -> None:
    thought = fr.ReasoningPartStarted("m", "m-0", 0, 0, 0)
    delta = fr.ReasoningPartDelta("m", "m-0", 0, "Hm.")
    _, cues = _fed(thought, delta, *_text("m-2", "Let", " me"), _called(), *_text("m-3", "Done"))
    kinds = [type(cue).__name__ for cue in cues]
    assert kinds == ["Thinks", "Folded", "Says", "Says", "Paused", "Folded", "Says"]


def test_texts_of_several_outputs_do_not_run_into_each_other() -> None:
    first, second = _text("a", "one"), _text("b", "two", output=1)
    _, cues = _fed(*first, *second, fr.TextPiece("m", "three", 0))
    assert cues == [Says("one"), Paused(), Says("two"), Paused(), Says("three")]


def test_what_the_provider_keeps_to_itself_is_told_as_such() -> None:
    draft, _ = _fed(fr.ReasoningPartStarted("m", "m-0", 0, 0, 0, "redacted"))
    (step,) = draft.steps
    assert isinstance(step, Thought)
    assert step.text == "The provider does not show this part of the reasoning."


def test_media_and_unknown_items_are_told() -> None:
    where: Any = {"media_type": "image/png", "sequence_number": 0, "created_at": 0}
    linked = MediaSegment(id="a", url="https://example.org/\x1b[31mx.png", **where)
    whole = MediaSegment(id="b", url="data:image/png;base64,AAAA", **where)
    opaque = OpaqueSegment(id="c", kind="compaction", sequence_number=0, created_at=0)
    draft, cues = _fed(*(fr.SegmentAdded("m", one) for one in (linked, whole, opaque)))
    assert cues == [
        Made("image/png: https://example.org/x.png"),
        Made("image/png: it is kept with the conversation"),
    ]
    assert isinstance(draft.steps[0], Other)


def test_a_tool_grows_and_ends() -> None:
    more = [
        fr.ToolCallUpdate("m", "c1", "writing", args_delta='{"a":'),
        fr.ToolCallUpdate("m", "c1", "running", progress=0.5, logs_delta="one\n", args={"a": 1}),
    ]
    draft, _ = _fed(_called(), *more)
    (tool,) = draft.steps
    assert isinstance(tool, Tool)
    assert (tool.status, tool.progress, tool.logs, tool.args) == ("running", 0.5, "one\n", {"a": 1})
    assert draft.feed(fr.ToolResultFrame("m", "c1", None, error="no")) == [Used(tool)]
    assert tool.state == "failed"
    assert draft.feed(fr.ToolResultFrame("m", "unknown", 1)) == []


def test_a_search_of_the_provider_has_the_name_that_people_know() -> None:
    draft, _ = _fed(fr.WebSearchCallStarted("m", "c1", "web_search", "", 0, 0, segment_id="m-1"))
    (tool,) = draft.steps
    assert isinstance(tool, Tool)
    assert tool.name == "Web search"


def test_a_step_that_is_taken_back_is_gone_or_said_to_be_void() -> None:
    draft, cues = _fed(_called(), fr.StepDiscardedFrame("m", ("m-1",), "retry"))
    assert draft.steps == []
    assert cues == []
    _, cues = _fed(*_text("m-2", "Half"), fr.StepDiscardedFrame("m", ("m-2",), "retry"))
    assert cues == [Says("Half"), Paused(), TakenBack(True)]


def test_an_answer_that_ends_with_steps_folds_them() -> None:
    event = MessageEvent(
        id="m", role="assistant", run_id=None, created_at=0, segments=(), usage=None
    )
    end = fr.MessageFinal(event)
    draft, cues = _fed(_called(), end)
    assert [type(cue) for cue in cues] == [Folded, Ended]
    assert draft.steps == []


def _nested(*frames: UXFrame) -> list[UXFrame]:
    return [fr.NestedFrame("m", "c1", frame) for frame in frames]


def test_what_a_sub_agent_does_belongs_to_its_call() -> None:
    begun = fr.MessageStarted("m-1", None, 0)
    thought = fr.ReasoningPartStarted("m-1", "m-1-0", 0, 0, 0)
    looked = fr.ToolCallStarted("m-1", "c1", "look", "", 1, 0, segment_id="m-1-1")
    found = fr.ToolResultFrame("m-1", "c1", "found it", None)
    draft, cues = _fed(_called("research"), *_nested(begun, thought, looked, found))
    (tool,) = draft.steps
    assert isinstance(tool, Tool)
    assert [step.id for step in tool.steps] == ["m-1-0", "m-1-1"]
    assert tool.state == "running"
    assert not cues
    # A text of the sub-agent folds its steps, which stay; a discarded step takes its own away.
    for frame in _nested(*_text("m-1-2", "Well")):
        assert not draft.feed(frame)
    assert [step.id for step in tool.steps] == ["m-1-0", "m-1-1"]
    draft.feed(*_nested(fr.StepDiscardedFrame("m-1", ("m-1-1",), "again")))
    assert [step.id for step in tool.steps] == ["m-1-0"]
    assert "Steps" in dict(tool_fields(tool))


def test_a_frame_of_an_unknown_sub_agent_changes_nothing() -> None:
    draft, cues = _fed(*_nested(fr.MessageStarted("m-1", None, 0)))
    assert (draft.steps, cues) == ([], [])
