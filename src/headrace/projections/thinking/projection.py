"""Turns records into the thinking protocol: phases of thinking and text, tools, and one end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from headrace.content import data_url
from headrace.errors import UsageError
from headrace.events import (
    MediaProduced,
    OutputFinished,
    OutputStarted,
    ReasoningDelta,
    ReasoningFinished,
    ReasoningRedacted,
    ReasoningStarted,
    Record,
    RunClosed,
    RunFailed,
    RunFinished,
    StepDiscarded,
    TextDelta,
    TextStarted,
    ToolActivity,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    ToolOutput,
    ToolResult,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from headrace.messages import Message
from headrace.projections.ending import GOES_ON, Terminal, ending
from headrace.projections.thinking.frame import (
    END_OF_FRAMES,
    Cancelled,
    ChunkChoice,
    ChunkDelta,
    Done,
    Error,
    ImageComplete,
    Status,
    StatusWord,
    TextChunk,
    TextEnd,
    TextPiece,
    TextStart,
    ThinkingComplete,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingFrame,
    ThinkingStart,
)
from headrace.projections.thinking.tool_calls import ThinkingToolCalls
from headrace.status.reader import StatusReader
from headrace.status.reasoning_reader import ReasoningReader

TextShape: TypeAlias = Literal["text_delta", "openai"]
_SOURCES: dict[str, StatusWord] = {
    "title": "title",
    "marker": "glm_marker",
    "natural": "natural_language",
    "tool": "tool",
}


class ThinkingProjection:
    """Turns the records of a turn or a run into thinking frames.

    Feed every record; `close()` returns the last frames if no `RunClosed` did. Thinking and text
    are never open at the same time, and each that starts ends, whatever the stream does. Only the
    first of several candidates is shown; nested runs are not. `max_thinking_chars` shortens the
    text of `thinking_complete`, but never the deltas.
    """

    def __init__(
        self, *, max_thinking_chars: int | None = None, text_shape: TextShape = "text_delta"
    ) -> None:
        if text_shape not in get_args(TextShape):
            raise UsageError(f"no text shape {text_shape!r}: there are text_delta and openai")
        if max_thinking_chars is not None and max_thinking_chars < 0:
            raise UsageError("max_thinking_chars is a length, or None for all of it")
        self._max_chars = max_thinking_chars
        self._is_chunked = text_shape == "openai"
        self._status = StatusReader()
        self._thoughts: list[str] = []
        self._thought_room = sys.maxsize if max_thinking_chars is None else max_thinking_chars
        self._started_ms: int | None = None
        self._thought_ms = 0
        self._has_thought = False
        self._has_text = False
        # The part of the latest delta. The next delta nearly always belongs to it too.
        self._part = -1
        self._thinking: ReasoningReader | None = None
        self._is_successive = False
        self._output: int | None = None
        self._is_shown: dict[int, bool] = {}
        self._calls = ThinkingToolCalls()
        self._ended: OutputFinished | None = None
        self._terminal: Terminal | None = None
        self._is_over = False
        self._at_ms = 0

    def feed(self, record: Record) -> list[ThinkingFrame]:
        """Return the frames of the next record."""
        event = record.event
        if record.path or self._is_over:
            return []
        self._at_ms = record.at_ms
        kind = type(event)
        if kind is ReasoningDelta:
            return self._thought(event)  # type: ignore[arg-type]
        if kind is TextDelta:
            return self._text(event)  # type: ignore[arg-type]
        return self._handle_rare(record)

    def _handle_rare(self, record: Record) -> list[ThinkingFrame]:
        event = record.event
        self._calls.step = record.step
        frames = self._after_terminal(event)
        statuses = [
            Status(status.text, _SOURCES[status.source], record.at_ms)
            for status in self._status.feed(record)
        ]
        # Status phrases of the thinking come before its end, those of a tool after it.
        frames += [status for status in statuses if status.source != "tool"]
        handle = _HANDLERS.get(type(event))
        if handle is not None:
            frames += handle(self, event)
        return [*frames, *(status for status in statuses if status.source == "tool")]

    def close(self) -> list[ThinkingFrame]:
        """End the stream: return the last frames, unless they were sent already."""
        return [] if self._is_over else self._end(None)

    # -- thinking

    def _thought(self, event: ReasoningDelta) -> list[ThinkingFrame]:
        if event.part != self._part:
            self._part, self._thinking = event.part, self._status.thought(event.part)
        if self._thinking is None:
            return []
        at_ms = self._at_ms
        text, status = self._thinking.feed(event.text)
        begun = self._think() if self._started_ms is None else None
        if text and self._thought_room > 0:
            self._thoughts.append(text)
            self._thought_room -= len(text)
        if text and status is None and begun is None:
            return [ThinkingDelta(text, at_ms)]
        said = [] if status is None else self._status.show(status, at_ms)
        return [
            *(begun or ()),
            *([ThinkingDelta(text, at_ms)] if text else ()),
            *(Status(one.text, _SOURCES[one.source], at_ms) for one in said),
        ]

    def _think(self) -> list[ThinkingFrame]:
        """Start thinking, unless it is open."""
        if self._started_ms is not None:
            return []
        frames = [*self._answers(), *self._end_text("stop")]
        self._started_ms = self._at_ms
        self._has_thought = True
        return [*frames, ThinkingStart(self._at_ms)]

    def _reasoning_started(self, event: ReasoningStarted) -> list[ThinkingFrame]:
        return self._think() if self._is_ours(event.output) else []

    def _reasoning_finished(self, event: ReasoningFinished) -> list[ThinkingFrame]:
        self._part, self._thinking = -1, None
        return [] if self._started_ms is None else self._rest(of_open=False)

    def _rest(self, *, of_open: bool = True) -> list[ThinkingFrame]:
        """Return frames for held-back text that turned out not to be a marker."""
        rest = self._status.rest(of_open=of_open)
        if rest and self._thought_room > 0:
            self._thoughts.append(rest)
            self._thought_room -= len(rest)
        return [ThinkingDelta(rest, self._at_ms)] if rest else []

    def _reasoning_redacted(self, event: ReasoningRedacted) -> list[ThinkingFrame]:
        return self._think() if self._is_ours(event.output) else []

    def _end_thinking(self) -> list[ThinkingFrame]:
        if self._started_ms is None:
            return []
        duration_ms = self._at_ms - self._started_ms
        self._started_ms = None
        self._thought_ms += duration_ms
        return [*self._rest(), ThinkingEnd(duration_ms // 1000, self._at_ms, duration_ms)]

    # -- text

    def _text_started(self, event: TextStarted) -> list[ThinkingFrame]:
        self._is_shown[event.part] = self._is_ours(event.output)
        return []

    def _text(self, event: TextDelta) -> list[ThinkingFrame]:
        if not self._is_shown.get(event.part):
            return []
        piece: ThinkingFrame = (
            TextChunk((ChunkChoice(ChunkDelta(event.text)),))
            if self._is_chunked
            else TextPiece(event.text)
        )
        if self._has_text:
            return [piece]
        self._status.end_phase()
        frames = [*self._end_thinking(), *self._answers(), TextStart(self._at_ms), piece]
        self._has_text = True
        return frames

    def _end_text(self, reason: str) -> list[ThinkingFrame]:
        if not self._has_text:
            return []
        self._has_text = False
        return [TextEnd(reason, self._at_ms)]

    # -- tools

    def _call_started(self, event: ToolCallStarted) -> list[ThinkingFrame]:
        if not self._is_ours(event.output):
            return []
        frames = [*self._end_thinking(), *self._answers(), *self._end_text("tool_calls")]
        self._calls.add(event)
        return frames

    def _call_finished(self, event: ToolCallFinished) -> list[ThinkingFrame]:
        return self._calls.finish_arguments(event, self._at_ms)

    def _call_malformed(self, event: ToolCallMalformed) -> list[ThinkingFrame]:
        return self._calls.fail_arguments(event, self._at_ms)

    def _activity(self, event: ToolActivity) -> list[ThinkingFrame]:
        self._calls.activity(event)
        return []

    def _answers(self) -> list[ThinkingFrame]:
        return self._calls.flush_ended(self._at_ms)

    def _tool_output(self, event: ToolOutput) -> list[ThinkingFrame]:
        if not self._is_ours(event.output):
            return []
        frames = self._calls.output(event, self._at_ms)
        return [*self._end_thinking(), *self._end_text("tool_calls"), *frames]

    def _tool_result(self, event: ToolResult) -> list[ThinkingFrame]:
        return self._calls.result(event, self._at_ms)

    def _media(self, event: MediaProduced) -> list[ThinkingFrame]:
        if not self._is_ours(event.output) or not event.media_type.startswith("image"):
            return []
        return [ImageComplete(data_url(event), self._at_ms)]

    # -- turns, runs and the end

    def _is_ours(self, output: int) -> bool:
        return self._is_successive or self._output is None or output == self._output

    def _turn_started(self, event: TurnStarted) -> list[ThinkingFrame]:
        self._is_successive = event.outputs == "successive"
        self._output = None
        return []

    def _output_started(self, event: OutputStarted) -> list[ThinkingFrame]:
        if self._output is None:
            self._output = event.output
        return []

    def _output_finished(self, event: OutputFinished) -> list[ThinkingFrame]:
        if event.output == self._output and not self._is_successive:
            self._ended = event
        return []

    def _turn_finished(self, event: TurnFinished) -> list[ThinkingFrame]:
        """Note how the turn ended. With several candidates, the one that is shown decides."""
        ended, self._ended = self._ended, None
        reason, raw_reason = event.reason, event.raw_reason
        if ended is not None and ended.reason is not None:
            reason, raw_reason = ended.reason, ended.raw_reason
        self._terminal = msgspec.structs.replace(event, reason=reason, raw_reason=raw_reason)
        frames = [*self._end_thinking(), *self._answers()]
        return [*frames, *self._end_text(raw_reason or "stop")]

    def _turn_failed(self, event: TurnFailed) -> list[ThinkingFrame]:
        """Note the error. The next record tells whether a person caused the end of the text."""
        self._terminal = event
        return [*self._end_thinking(), *self._answers()]

    def _after_terminal(self, event: object) -> list[ThinkingFrame]:
        """Handle records that show that the last turn was not the end of the message."""
        if self._terminal is None or not isinstance(event, GOES_ON):
            return []
        is_failed = isinstance(self._terminal, TurnFailed)
        self._terminal = None
        return self._end_text("error") if is_failed else []

    def _on_step_discarded(self, event: StepDiscarded) -> list[ThinkingFrame]:
        """Forget the calls of a discarded step; what was shown stays."""
        frames = self._answers()
        self._calls.discard(event.step)
        return frames

    def _run_ended(self, event: RunFinished | RunFailed) -> list[ThinkingFrame]:
        self._terminal = event
        return self._closing_frames(_word_of_end(event))

    def _run_closed(self, event: RunClosed) -> list[ThinkingFrame]:
        return self._end(event)

    def _closing_frames(self, word: str) -> list[ThinkingFrame]:
        return [*self._end_thinking(), *self._answers(), *self._end_text(word)]

    def _end(self, closed: RunClosed | None) -> list[ThinkingFrame]:
        self._is_over = True
        last = _last_frame(self._terminal, closed, self._at_ms)
        frames = self._closing_frames("cancelled" if isinstance(last, Cancelled) else "error")
        if self._has_thought:
            thinking = "".join(self._thoughts)[: self._max_chars]
            duration_ms = self._thought_ms
            frames.append(ThinkingComplete(duration_ms // 1000, thinking, self._at_ms, duration_ms))
        return [*frames, last, END_OF_FRAMES]


def _word_of_end(event: RunFinished | RunFailed) -> str:
    return {"finished": "stop", "failed": "error", "cancelled": "cancelled"}[ending(event).kind]


def _last_frame(
    terminal: Terminal | None, closed: RunClosed | None, at_ms: int
) -> Done | Error | Cancelled:
    end = ending(terminal, closed)
    if end.kind == "failed":
        return Error(end.message, end.category, at_ms, retryable=end.retryable)
    if end.kind == "cancelled":
        return Cancelled(at_ms)
    assert isinstance(terminal, TurnFinished | RunFinished)
    usage = terminal.usage if terminal.usage.is_known else None
    return Done(str(terminal.reason), at_ms, usage)


_Handler: TypeAlias = Callable[[ThinkingProjection, Any], list[ThinkingFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    TurnStarted: ThinkingProjection._turn_started,
    OutputStarted: ThinkingProjection._output_started,
    OutputFinished: ThinkingProjection._output_finished,
    ReasoningStarted: ThinkingProjection._reasoning_started,
    ReasoningFinished: ThinkingProjection._reasoning_finished,
    ReasoningRedacted: ThinkingProjection._reasoning_redacted,
    TextStarted: ThinkingProjection._text_started,
    ToolCallStarted: ThinkingProjection._call_started,
    ToolCallFinished: ThinkingProjection._call_finished,
    ToolCallMalformed: ThinkingProjection._call_malformed,
    ToolActivity: ThinkingProjection._activity,
    ToolOutput: ThinkingProjection._tool_output,
    ToolResult: ThinkingProjection._tool_result,
    MediaProduced: ThinkingProjection._media,
    TurnFinished: ThinkingProjection._turn_finished,
    TurnFailed: ThinkingProjection._turn_failed,
    StepDiscarded: ThinkingProjection._on_step_discarded,
    RunFinished: ThinkingProjection._run_ended,
    RunFailed: ThinkingProjection._run_ended,
    RunClosed: ThinkingProjection._run_closed,
}


def create_projection(
    event_id: str | None = None, message: Callable[[], Message] | None = None
) -> ThinkingProjection:
    """Create the projection of one run; see `headrace.projections.registry`."""
    return ThinkingProjection()
