"""The reference page of phases, status phrases, timelines and thinking frames, and blocks of the
other pages about them."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, get_args

import msgspec

from docs import meaning, thinking, timeline
from docs.outline import function, interface, one_line, struct, table
from headrace import phases
from headrace import timeline as timelines
from headrace.cli.terminal.output import Paint
from headrace.cli.timeline.text import timeline_lines
from headrace.phases import tracker
from headrace.phases.tracker import OutputStats, output_status
from headrace.projections import thinking as frames_package
from headrace.projections.thinking import ThinkingProjection, frame, projection
from headrace.status import StatusReader, languages
from headrace.status import reader as status
from headrace.status import reasoning_reader as thought
from headrace.timeline import span

Struct = type[msgspec.Struct]
# The width that the command line uses for output to a pipe.
_DRAWING_COLUMNS = 80


def frame_structs() -> list[Struct]:
    """Return all frames and the structs inside them, in the order of the source."""
    return [
        kind
        for kind in vars(frame).values()
        if inspect.isclass(kind)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == frame.__name__
    ]


def type_of(kind: Struct) -> str | None:
    """Return the `type` of a frame, or None if it has no such field."""
    if kind is frame.EndOfFrames:
        return "[DONE]"
    tag = kind.__struct_config__.tag
    return None if tag is None else str(tag)


# --- blocks ----------------------------------------------------------------------


def frames() -> str:
    """Return the table of frames, with the fields of the specification and those added."""
    rows = [
        (f"`{name}`", *_fields(name, kind), one_line(kind))
        for kind in frame_structs()
        if (name := type_of(kind)) is not None
    ]
    return table(("type", "fields", "added", "meaning"), rows)


def _fields(name: str, kind: Struct) -> tuple[str, str]:
    theirs = thinking.DOCUMENT.get(name, ())
    known = [field for field in kind.__struct_fields__ if field in theirs]
    added = [field for field in kind.__struct_fields__ if field not in theirs]
    return _codes(known), _codes(added)


def _codes(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def order() -> str:
    """Return the order of frames as a table."""
    rows = [
        (state, _codes(thinking.frames(state, to)), to)
        for state, moves in thinking.ORDER.items()
        for to in dict.fromkeys(moves.values())
    ]
    return table(("state", "next frame", "new state"), rows)


def sources() -> str:
    """Return the table of the sources of status phrases, the highest rank first."""
    ranked = sorted(get_args(status.StatusSource), key=lambda word: -thought.RANKS[word])
    rows = [
        (
            f"`{word}`",
            f"`{projection._SOURCES[word]}`",
            meaning.STATUS_SOURCES[word],
            meaning.STATUS_EXAMPLES[word],
        )
        for word in ranked
    ]
    return table(("source", "in a frame", "what it is", "example"), rows)


def language_table() -> str:
    """Return the table of languages and the length of their phrases."""
    rows = [
        (f"`{language.name}`", f"{language.min_chars} to {language.max_chars} characters")
        for language in languages.LANGUAGES
    ]
    return table(("language", "length of a phrase"), rows)


def statuses() -> str:
    """Return the table of `output_status` for all cases that differ."""
    assert {output_status(stats) for stats in _stats(is_finished=True)} == {("complete",) * 2}
    rows: list[tuple[str, ...]] = [("yes", "", "", "", "complete", "complete")]
    for stats in _stats(is_finished=False):
        facts = (stats.is_reasoning_last, bool(stats.content_deltas), stats.has_call)
        rows.append(("no", *("yes" if fact else "no" for fact in facts), *output_status(stats)))
    heads = (
        "finished",
        "last delta is reasoning",
        "has text",
        "has a call",
        "reasoning",
        "content",
    )
    return table(heads, rows)


def _stats(*, is_finished: bool) -> Iterator[OutputStats]:
    for is_last, has_text, has_call in product((False, True), repeat=3):
        yield OutputStats(
            reasoning_deltas=int(is_last),
            is_reasoning_last=is_last,
            content_deltas=int(has_text),
            has_call=has_call,
            is_finished=is_finished,
        )


def notices() -> str:
    """Return the table of notices, with callbacks and values."""
    rows = [
        (f"`{name}`", f"`on_{name}`", *meaning.NOTICES[name])
        for name in get_args(tracker.NoticeName)
    ]
    return table(("notice", "callback", "value", "sent"), rows)


def timeline_text() -> str:
    """Return the timeline of the picture, as the terminal shows it."""
    lines = timeline_lines(timelines.timeline(timeline.records()), _DRAWING_COLUMNS, Paint(False))
    return "\n".join(["```text", *lines, "```", ""])


# --- the reference page ------------------------------------------------------------


def page_parts() -> list[str]:
    """Return the parts of the reference page."""
    parts = [
        _PHASES,
        *(_describe(getattr(phases, name)) for name in _PHASE_NAMES),
        _describe(StatusReader),
    ]
    parts += [_WORDS, "## Timelines", _TIMELINES]
    parts += [_describe(getattr(timelines, name)) for name in _TIMELINE_NAMES]
    parts += ["## Thinking frames", _FRAMES, interface(ThinkingProjection)]
    parts += [function(frames_package.create_projection)]
    parts += [function(frames_package.encode_frame), function(frames_package.frame_type)]
    parts += [_UNION, *(struct(kind) for kind in frame_structs())]
    return parts


def _describe(thing: Any) -> str:
    if not inspect.isclass(thing):
        return function(thing)
    return struct(thing) if issubclass(thing, msgspec.Struct) else interface(thing)


def _choice(name: str, of: Any) -> tuple[str, str]:
    return f"`{name}`", _codes(f'"{word}"' for word in get_args(of))


_PHASE_NAMES = (
    "PhaseTracker", "Notice", "OutputContext", "OutputStats", "output_status",
    "Consumer", "consume", "consume_async", "consume_reads", "consume_reads_async",
)  # fmt: skip
_TIMELINE_NAMES = ("timeline", "TimelineReader", "Timeline", "Span")
_PHASES = """\
Values that are derived from records: phases and their callbacks, status phrases, timelines, and the
frames of the thinking protocol. They do no I/O, use no clock, and are not part of a log.
[Phases](../topics/phases.md) and [The thinking protocol](../topics/thinking.md) show them in use.

## Phases

Names of `headrace.phases`; `StatusReader` is in `headrace.status`."""
_TIMELINES = "Names of `headrace.timeline`."
_FRAMES = """\
Names of `headrace.projections.thinking`; the frames are in its module `frame`. In the
JSON of tool frames and final frames, fields with their default are left out."""
_UNION = """\
`ThinkingFrame` is the union of all frames, `END_OF_FRAMES` the only instance of `EndOfFrames`.
`TextShape` is `"text_delta"` or `"openai"`: whether text is sent as a `TextPiece` or as a
`TextChunk`."""
_WORDS = table(
    ("name", "one of"),
    [
        _choice("CompletionMode", tracker.CompletionMode),
        _choice("NoticeName", tracker.NoticeName),
        _choice("StatusSource", status.StatusSource),
        _choice("SpanKind", span.SpanKind),
    ],
)
