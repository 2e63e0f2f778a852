"""What must be true of every list of frames and of notices, however the stream ended."""

from __future__ import annotations

from collections import Counter

from headrace.phases import Notice
from headrace.projections.thinking import ThinkingFrame, frame_type
from headrace.projections.thinking import frame as fr

ENDS = ("done", "error", "cancelled")
BLANK_LINE = "\n\n"


def check_frames(frames: list[ThinkingFrame]) -> None:
    """Starts and ends balance, thinking and text exclude each other, and there is one end."""
    kinds = [frame_type(frame) for frame in frames]
    assert kinds[-1] == "[DONE]"
    assert kinds[-2] in ENDS
    assert sum(kind in (*ENDS, "[DONE]") for kind in kinds) == 2
    _check_phases(kinds)
    _check_times(frames)
    has_thought = "thinking_start" in kinds
    assert kinds.count("thinking_complete") == has_thought
    if has_thought:
        assert kinds[-3] == "thinking_complete"


def _check_phases(kinds: list[str]) -> None:
    phase = None
    for before, kind in zip([None, *kinds], kinds, strict=False):
        if kind.endswith("_start") and kind != "tool_call_start":
            assert phase is None, kinds
            phase = kind.removesuffix("_start")
        elif kind in ("thinking_delta", "text_delta"):
            assert phase == kind.removesuffix("_delta"), kinds
        elif kind in ("thinking_end", "text_end"):
            assert phase == kind.removesuffix("_end"), kinds
            assert before != "text_start", "text without a word"
            phase = None
    assert phase is None, kinds


def _check_times(frames: list[ThinkingFrame]) -> None:
    started = ended = thought = 0
    text: list[list[str]] = []
    for frame in frames:
        match frame:
            case fr.ThinkingStart():
                started = frame.timestamp
                text.append([])
            case fr.ThinkingEnd():
                assert frame.duration_ms == frame.timestamp - started >= 0
                assert frame.duration == frame.duration_ms // 1000
                ended += frame.duration_ms
            case fr.ThinkingDelta():
                assert frame.content
                text[-1].append(frame.content)
            case fr.ThinkingComplete():
                thought = frame.duration_ms
                assert frame.duration == thought // 1000
                _check_whole_thinking(frame.thinking, text)
            case _:
                pass
    assert thought == ended


def _check_whole_thinking(thinking: str, phases: list[list[str]]) -> None:
    """All deltas in order: a blank line is between phases, and may be between parts of one."""
    at = 0
    for number, phase in enumerate(filter(None, phases)):
        if number:
            assert thinking.startswith(BLANK_LINE, at)
            at += len(BLANK_LINE)
        for delta in phase:
            at += 0 if thinking.startswith(delta, at) else len(BLANK_LINE)
            assert thinking.startswith(delta, at)
            at += len(delta)
    assert at == len(thinking)


def check_notices(notices: list[Notice]) -> None:
    """Completes come once, after their start, and no status repeats or goes back, but that
    reasoning may resume."""
    told = Counter((n.name, n.context.path, n.context.step, n.context.output) for n in notices)
    for (name, *place), count in told.items():
        if name.endswith(("_start", "_complete")):
            assert count == 1, (name, place)
        if name.endswith("_complete"):
            assert told[name.replace("_complete", "_start"), *place] == 1  # type: ignore[index]
        if name.endswith("_start"):
            assert told[name.replace("_start", "_complete"), *place] == 1  # type: ignore[index]
    _check_statuses(notices)


def _check_statuses(notices: list[Notice]) -> None:
    order = {"init": 0, "pending": 1, "complete": 2}
    last: dict[object, str] = {}
    for notice in notices:
        if notice.name != "phase_change":
            continue
        change = notice.value
        place = (notice.context.path, notice.context.step, change.output, change.phase)
        before = last.get(place, "init")
        assert change.status != before, "a status came twice"
        is_resumed = change.phase == "reasoning" and (before, change.status) == (
            "complete",
            "pending",
        )
        assert order[change.status] > order[before] or is_resumed
        last[place] = change.status
