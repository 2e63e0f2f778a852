"""What the docs tell of phases, thinking frames, status phrases and timelines: a reference
page, and blocks of the pages on them."""

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
from headrace.cli.terminal.color import Paint
from headrace.cli.timeline.text import timeline_lines
from headrace.phases import tracker
from headrace.phases.output_stats import OutputStats, output_status
from headrace.projections import thinking as frames_package
from headrace.projections.thinking import ThinkingProjection, frame, projection
from headrace.status import StatusReader, languages
from headrace.status import reader as status
from headrace.status import reasoning_reader as thought
from headrace.timeline import span

Struct = type[msgspec.Struct]
# What the command line assumes of a pipe.
_DRAWING_COLUMNS = 80


def frame_structs() -> list[Struct]:
    """Every frame and what is inside one, in the order of the source."""
    return [
        kind
        for kind in vars(frame).values()
        if inspect.isclass(kind)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == frame.__name__
    ]


def type_of(kind: Struct) -> str | None:
    """What stands in a frame's `type`; None where there is no such field."""
    if kind is frame.EndOfFrames:
        return "[DONE]"
    tag = kind.__struct_config__.tag
    return None if tag is None else str(tag)


# --- blocks ----------------------------------------------------------------------


def frames() -> str:
    """The vocabulary, the document's fields apart from ours."""
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
    """The order as a table."""
    rows = [
        (state, _codes(thinking.frames(state, to)), to)
        for state, moves in thinking.ORDER.items()
        for to in dict.fromkeys(moves.values())
    ]
    return table(("while it is", "may come", "then it is"), rows)


def sources() -> str:
    """Where a status phrase may come from, the highest rank first."""
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
    return table(("source", "in a frame", "is", "such as"), rows)


def tongues() -> str:
    """The languages, and how long their phrases are."""
    rows = [
        (f"`{one.name}`", f"{one.min_chars} to {one.max_chars} characters")
        for one in languages.LANGUAGES
    ]
    return table(("language", "a phrase has"), rows)


def statuses() -> str:
    """`output_status`, asked for everything that makes a difference."""
    assert {output_status(stats) for stats in _stats(is_finished=True)} == {("complete",) * 2}
    rows: list[tuple[str, ...]] = [("yes", "", "", "", "complete", "complete")]
    for stats in _stats(is_finished=False):
        facts = (stats.is_reasoning_last, bool(stats.content_deltas), stats.has_call)
        rows.append(("no", *("yes" if fact else "no" for fact in facts), *output_status(stats)))
    heads = ("finished", "reasoning came last", "has text", "has a call", "reasoning", "content")
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
    """Every notice, its callback and its value."""
    rows = [
        (f"`{name}`", f"`on_{name}`", *meaning.NOTICES[name])
        for name in get_args(tracker.NoticeName)
    ]
    return table(("notice", "callback", "value", "comes"), rows)


def drawn() -> str:
    """The stream of the picture, as the terminal shows it."""
    lines = timeline_lines(timelines.timeline(timeline.records()), _DRAWING_COLUMNS, Paint(False))
    return "\n".join(["```text", *lines, "```", ""])


# --- the reference page ------------------------------------------------------------


def page_parts() -> list[str]:
    """The page on `headrace.phases` and `headrace.projections.thinking`."""
    parts = [_PHASES, *(_told(getattr(phases, name)) for name in _PHASE_NAMES), _told(StatusReader)]
    parts += [_WORDS, "## Timelines", _TIMELINES]
    parts += [_told(getattr(timelines, name)) for name in _TIMELINE_NAMES]
    parts += ["## Thinking frames", _FRAMES, interface(ThinkingProjection)]
    parts += [function(frames_package.create_projection)]
    parts += [function(frames_package.encode_frame), function(frames_package.frame_type)]
    parts += [_UNION, *(struct(kind) for kind in frame_structs())]
    return parts


def _told(thing: Any) -> str:
    if not inspect.isclass(thing):
        return function(thing)
    return struct(thing) if issubclass(thing, msgspec.Struct) else interface(thing)


def _choice(name: str, of: Any) -> tuple[str, str]:
    return f"`{name}`", _codes(f'"{word}"' for word in get_args(of))


_PHASE_NAMES = (
    "PhaseTracker", "Notice", "OutputContext", "OutputStats", "output_status",
    "Consumer", "consume", "consume_async",
)  # fmt: skip
_TIMELINE_NAMES = ("timeline", "TimelineReader", "Timeline", "Span")
_PHASES = """\
What can be told of records while they come: phases and their callbacks, status phrases, timelines,
and the frames of the thinking vocabulary. All of it is derived, so it is never logged, and neither
waits nor reads a clock. [Phases](../topics/phases.md) and [Thinking](../topics/thinking.md) show it
in use.

## Phases

Names of `headrace.phases`; `StatusReader` is in `headrace.status`."""
_TIMELINES = "Names of `headrace.timeline`."
_FRAMES = """\
Names of `headrace.projections.thinking`; the frames themselves are in its module `frame`. In the
JSON of tools and ends a field that has its default is left out."""
_UNION = """\
`ThinkingFrame` is the union of all frames, `END_OF_FRAMES` the one `EndOfFrames` there is.
`TextShape` is `"text_delta"` or `"openai"`: whether a piece of text is a `TextPiece` or a
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
