"""Turns records into the thinking protocol: phases of thinking and text, tools, and one end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from headrace import events as ev
from headrace.content import data_url
from headrace.errors import UsageError
from headrace.events import ReasoningDelta, Record, TextDelta
from headrace.messages import Message
from headrace.projections.ending import GOES_ON, Terminal, ending
from headrace.projections.thinking import frame as fr
from headrace.projections.thinking.frame import TextPiece, ThinkingDelta, ThinkingFrame
from headrace.projections.thinking.input import CLOSING_WORDS, InputEvent, to_frames
from headrace.projections.thinking.tool_calls import ThinkingToolCalls
from headrace.status.answer_text import AnswerText
from headrace.status.reader import StatusReader
from headrace.status.reasoning_reader import ReasoningReader, find_mark
from headrace.status.sentence import STOPS

TextShape: TypeAlias = Literal["text_delta", "openai"]
_SOURCES: dict[str, fr.StatusWord] = {
    "title": "title",
    "marker": "glm_marker",
    "natural": "natural_language",
    "tool": "tool",
}
_BLANK_LINE = "\n\n"
_LOSS = "frames of the stream could not be read: part of the answer may be missing"
_GAP = "the text was sent with a gap; the stored message is complete"
_MAX_WORDS = 64
_END_WORDS = {"finished": "stop", "failed": "error", "cancelled": "cancelled"}


class ThinkingProjection:
    """Turns the records of a turn or a run into thinking frames.

    Feed every record; `close()` returns the last frames if no `RunClosed` did. Thinking and text
    are never open at the same time, and each that starts ends, whatever the stream does. Only the
    first of several candidates is shown; of nested runs only their requests for input are.
    `max_thinking_chars` shortens the text of `thinking_complete`, but never the deltas.
    """

    __slots__ = (
        "_at_ms", "_calls", "_ended", "_has_text", "_has_thought", "_idle_since_ms", "_is_chunked",
        "_is_over", "_is_step_shown", "_is_text_cut", "_max_chars", "_paragraphs", "_part",
        "_plain_part", "_run_id", "_started_ms", "_status", "_terminal", "_texts", "_thinking",
        "_thought_ms", "_thought_room", "_thoughts", "_warning", "_words",
    )  # fmt: skip

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
        # The text of finished phases and summaries, and that of the current one in pieces.
        self._paragraphs: list[str] = []
        self._thoughts: list[str] = []
        self._thought_room = sys.maxsize if max_thinking_chars is None else max_thinking_chars
        self._started_ms: int | None = None
        self._thought_ms = 0
        self._has_thought = False
        self._has_text = False
        self._is_text_cut = False
        # The part of the latest delta. The next delta nearly always belongs to it too.
        self._part = -1
        self._thinking: ReasoningReader | None = None
        # The part whose next delta needs no more than its frame if no sentence ends in it, or -1;
        # and such deltas, which are read together.
        self._plain_part = -1
        self._words: list[str] = []
        # The texts that are shown, by part.
        self._texts: dict[int, AnswerText] = {}
        self._calls = ThinkingToolCalls()
        self._ended: ev.OutputFinished | None = None
        self._terminal: Terminal | None = None
        self._warning: str | None = None
        self._is_over = False
        # Whether something of the current step was sent.
        self._is_step_shown = False
        self._run_id = ""
        self._at_ms = 0
        # When the turn began, or something in it last began or ended.
        self._idle_since_ms = 0

    def feed(self, record: Record) -> list[ThinkingFrame]:
        """Return the frames of the next record."""
        event = record.event
        if type(event) is ReasoningDelta and event.part == self._plain_part and not record.path:
            # Fast path: one more word of a sentence. Nine of ten deltas of reasoning end here.
            text, words = event.text, self._words
            mark = find_mark(text)
            if mark is not None and mark.end() == len(text) and mark[0] in STOPS:
                # Whether a stop at the end of a text ends a sentence, the next delta tells.
                mark, self._plain_part = None, -1
            if mark is None and text and len(words) < _MAX_WORDS:
                words.append(text)
                self._at_ms = at_ms = record.at_ms
                return [ThinkingDelta(text, at_ms)]
        kind = type(event)
        if self._words and (kind is not ReasoningDelta or record.path):
            self._read_words()
        self._plain_part = -1
        if record.path:
            return self._feed_nested(record)
        if self._is_over:
            return []
        self._at_ms = record.at_ms
        if kind is ReasoningDelta:
            self._is_step_shown = True
            return self._thought(event)  # type: ignore[arg-type]
        if kind is TextDelta:
            self._is_step_shown = True
            return self._text(event)  # type: ignore[arg-type]
        return self._handle_rare(record)

    def _handle_rare(self, record: Record) -> list[ThinkingFrame]:
        event = record.event
        self._calls.step, self._calls.at_ms = record.step, record.at_ms
        frames = self._after_terminal(event)
        statuses = [
            fr.Status(status.text, _SOURCES[status.source], record.at_ms)
            for status in self._status.feed(record)
        ]
        # Status phrases of the thinking come before its end, those of a tool after it.
        frames += [status for status in statuses if status.source != "tool"]
        handle = _HANDLERS.get(type(event))
        handled = self._calls.feed(event) if handle is None else handle(self, event)
        self._is_step_shown = self._is_step_shown or bool(handled)
        frames += handled
        if type(event) in _MILESTONES:
            self._idle_since_ms = record.at_ms
        return [*frames, *(status for status in statuses if status.source == "tool")]

    def _feed_nested(self, record: Record) -> list[ThinkingFrame]:
        """Return the frames of what a sub-agent asks for; the rest of it is not shown."""
        event = record.event
        if self._is_over or not isinstance(event, ev.InputRequested | ev.InputAnswered):
            return []
        self._at_ms = record.at_ms
        return self._feed_input(event, record.path)

    def close(self) -> list[ThinkingFrame]:
        """End the stream: return the last frames, unless they were sent already."""
        self._read_words()
        return [] if self._is_over else self._end(None)

    # -- thinking

    def _read_words(self) -> None:
        """Read the words that took the fast path."""
        words = self._take_words()
        if words and self._thinking is not None:
            self._thinking.feed(words, len(words) - 1)
            self._keep_thought(words)

    def _take_words(self) -> str:
        words = "".join(self._words)
        self._words.clear()
        return words

    def _keep_thought(self, text: str) -> None:
        """Keep text for `thinking_complete`, as far as it is shown there."""
        if text and self._thought_room > 0:
            self._thoughts.append(text)
            self._thought_room -= len(text)

    def _thought(self, event: ReasoningDelta) -> list[ThinkingFrame]:
        text = event.text
        if event.part != self._part or not text:
            self._read_words()
        if event.part != self._part:
            self._part, self._thinking = event.part, self._status.thought(event.part)
        thinking = self._thinking
        if thinking is None:
            return []
        at_ms, statuses = self._at_ms, self._status
        # How much of the text has been sent, and where the search for marks begins.
        sent = start = 0
        if self._words:
            before = self._take_words()
            sent, text = len(before), before + text
            start = sent - 1
        text, status = thinking.feed(text, start)
        begun = self._think() if self._started_ms is None else None
        self._keep_thought(text)
        if sent:
            text = text[sent:]
        frames: list[ThinkingFrame] = [ThinkingDelta(text, at_ms)] if text else []
        if status is not None or statuses.waiting is not None:
            said = statuses.take_due(at_ms)
            if status is not None:
                said += statuses.show(status, at_ms)
            frames += [fr.Status(one.text, _SOURCES[one.source], at_ms) for one in said]
        if statuses.waiting is None and thinking.takes_plain:
            self._plain_part = event.part
        return frames if begun is None else [*begun, *frames]

    def _think(self) -> list[ThinkingFrame]:
        """Start thinking, unless it is open."""
        if self._started_ms is not None:
            return []
        frames = [*self._calls.flush_ended(self._at_ms), *self._end_text("stop")]
        self._end_paragraph()
        self._started_ms = self._at_ms
        self._has_thought = True
        return [*frames, fr.ThinkingStart(self._at_ms)]

    def _reasoning_started(self, event: ev.ReasoningStarted) -> list[ThinkingFrame]:
        if not self._status.is_shown(event.output):
            return []
        if event.summary_index is not None:
            self._end_paragraph()
        return self._think()

    def _end_paragraph(self) -> None:
        """Begin a new paragraph in the text of `thinking_complete`."""
        if self._thoughts:
            self._paragraphs.append("".join(self._thoughts))
            self._thought_room -= len(_BLANK_LINE)
            self._thoughts.clear()

    def _start_redacted(self, event: ev.ReasoningRedacted) -> list[ThinkingFrame]:
        """Start thinking in the past: a redacted block comes whole, when the model has finished
        it. It began when whatever was before it had ended."""
        if not self._status.is_shown(event.output):
            return []
        at_ms, self._at_ms = self._at_ms, self._idle_since_ms
        frames = self._think()
        self._at_ms = at_ms
        return frames

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> list[ThinkingFrame]:
        self._part, self._thinking = -1, None
        return [] if self._started_ms is None else self._rest(of_open=False)

    def _rest(self, *, of_open: bool = True) -> list[ThinkingFrame]:
        """Return frames for held-back text that turned out not to be a marker."""
        rest = self._status.rest(of_open=of_open)
        self._keep_thought(rest)
        return [ThinkingDelta(rest, self._at_ms)] if rest else []

    def _end_thinking(self) -> list[ThinkingFrame]:
        if self._started_ms is None:
            return []
        duration_ms = self._at_ms - self._started_ms
        self._started_ms = None
        self._thought_ms += duration_ms
        return [*self._rest(), fr.ThinkingEnd(duration_ms // 1000, self._at_ms, duration_ms)]

    # -- text

    def _note_gap(self, event: ev.PartRestored) -> list[ThinkingFrame]:
        """Note that a text with a gap was sent, which this protocol cannot take back."""
        if event.part in self._texts or self._status.thought(event.part) is not None:
            self._warning = self._warning or _GAP
        return []

    def _text_started(self, event: ev.TextStarted) -> list[ThinkingFrame]:
        if self._status.is_shown(event.output):
            self._texts[event.part] = AnswerText()
        return []

    def _text(self, event: TextDelta) -> list[ThinkingFrame]:
        text = self._texts.get(event.part)
        return [] if text is None else self._text_frames(text.feed(event.text))

    def _text_finished(self, event: ev.TextFinished) -> list[ThinkingFrame]:
        text = self._texts.pop(event.part, None)
        return [] if text is None else self._text_frames(text.close())

    def _text_frames(self, text: str) -> list[ThinkingFrame]:
        if not text:
            return []
        piece: ThinkingFrame = (
            fr.TextChunk((fr.ChunkChoice(fr.ChunkDelta(text)),))
            if self._is_chunked
            else TextPiece(text)
        )
        if self._has_text:
            return [piece]
        self._status.end_phase()
        self._has_text = True
        return [*self._end_steps(), fr.TextStart(self._at_ms), piece]

    def _end_text(self, reason: str) -> list[ThinkingFrame]:
        if not self._has_text:
            return []
        self._has_text = False
        return [fr.TextEnd(reason, self._at_ms)]

    # -- tools

    def _call_started(self, event: ev.ToolCallStarted) -> list[ThinkingFrame]:
        if not self._status.is_shown(event.output):
            return []
        frames = self._closing_frames("tool_calls")
        self._calls.add(event)
        return frames

    def _tool_output(self, event: ev.ToolOutput) -> list[ThinkingFrame]:
        if not self._status.is_shown(event.output):
            return []
        frames = self._calls.output(event)
        return [*self._end_thinking(), *self._end_text("tool_calls"), *frames]

    def _media(self, event: ev.MediaProduced) -> list[ThinkingFrame]:
        if not self._status.is_shown(event.output) or not event.media_type.startswith("image"):
            return []
        return [fr.ImageComplete(data_url(event), self._at_ms)]

    # -- input

    def _feed_input(self, event: InputEvent, path: tuple[str, ...] = ()) -> list[ThinkingFrame]:
        word = CLOSING_WORDS.get(type(event))
        closing = [] if word is None else self._closing_frames(word)
        return [*closing, *to_frames(event, self._run_id, self._at_ms, path)]

    # -- turns, runs and the end

    def _run_started(self, event: ev.RunStarted) -> list[ThinkingFrame]:
        self._run_id = event.run_id
        return []

    def _output_finished(self, event: ev.OutputFinished) -> list[ThinkingFrame]:
        if self._status.is_shown(event.output) and not self._status.is_successive:
            self._ended = event
        return []

    def _turn_finished(self, event: ev.TurnFinished) -> list[ThinkingFrame]:
        """Note how the turn ended. With several candidates, the one that is shown decides."""
        ended, self._ended = self._ended, None
        reason, raw_reason = event.reason, event.raw_reason
        if ended is not None and ended.reason is not None:
            reason, raw_reason = ended.reason, ended.raw_reason
        self._terminal = msgspec.structs.replace(event, reason=reason, raw_reason=raw_reason)
        if not event.is_complete:
            self._warning = _LOSS
        return self._closing_frames(raw_reason or "stop")

    def _turn_failed(self, event: ev.TurnFailed) -> list[ThinkingFrame]:
        """Note the error. Whether a person caused it is known at the end of the run, so the text
        stays open until then."""
        self._terminal = event
        self._is_text_cut = True
        return self._end_steps()

    def _after_terminal(self, event: object) -> list[ThinkingFrame]:
        """Handle records that show that the last turn was not the end of the message."""
        if not isinstance(event, GOES_ON):
            return []
        self._terminal = None
        # A cancelled run also answers its calls and finishes its step.
        if not self._is_text_cut or isinstance(event, ev.ToolResult | ev.StepFinished):
            return []
        self._is_text_cut = False
        return self._end_text("error")

    def _on_step_discarded(self, event: ev.StepDiscarded) -> list[ThinkingFrame]:
        """End the stream if something of the step was sent: this protocol cannot take it back."""
        if not self._is_step_shown:
            self._calls.discard(event.step)
            return []
        self._terminal = None
        self._is_over = True
        error = fr.Error(_DISCARDED, "interrupted", self._at_ms, retryable=True)
        return [*self._closing_frames("error"), error, fr.END_OF_FRAMES]

    def _on_step_started(self, event: ev.StepStarted) -> list[ThinkingFrame]:
        self._is_step_shown = False
        return []

    def _run_ended(self, event: ev.RunFinished | ev.RunFailed) -> list[ThinkingFrame]:
        self._terminal = event
        return self._closing_frames(_END_WORDS[ending(event).kind])

    def _closing_frames(self, word: str) -> list[ThinkingFrame]:
        # Parts are open here only if the records broke off.
        held = [frame for text in self._texts.values() for frame in self._text_frames(text.close())]
        return [*held, *self._end_steps(), *self._end_text(word)]

    def _end_steps(self) -> list[ThinkingFrame]:
        return [*self._end_thinking(), *self._calls.flush_ended(self._at_ms)]

    def _end(self, closed: ev.RunClosed | None) -> list[ThinkingFrame]:
        self._is_over = True
        last = _last_frame(self._terminal, closed, self._at_ms)
        if isinstance(last, fr.Done) and self._warning is not None:
            last = msgspec.structs.replace(last, warning=self._warning)
        frames = self._closing_frames("cancelled" if isinstance(last, fr.Cancelled) else "error")
        if self._has_thought:
            self._end_paragraph()
            thinking = _BLANK_LINE.join(self._paragraphs)[: self._max_chars]
            ms = self._thought_ms
            frames.append(fr.ThinkingComplete(ms // 1000, thinking, self._at_ms, ms))
        return [*frames, last, fr.END_OF_FRAMES]


def _last_frame(
    terminal: Terminal | None, closed: ev.RunClosed | None, at_ms: int
) -> fr.Done | fr.Error | fr.Cancelled:
    end = ending(terminal, closed)
    if end.kind == "failed":
        return fr.Error(end.message, end.category, at_ms, retryable=end.retryable)
    if end.kind == "cancelled":
        return fr.Cancelled(at_ms)
    assert isinstance(terminal, ev.TurnFinished | ev.RunFinished)
    usage = terminal.usage if terminal.usage.is_known else None
    return fr.Done(str(terminal.reason), at_ms, usage)


_DISCARDED = "a part of this answer failed and is written again: read it from its conversation"
_MILESTONES = frozenset(
    {
        ev.TurnStarted,
        ev.TextStarted,
        ev.TextFinished,
        ev.ReasoningFinished,
        ev.ReasoningRedacted,
        ev.ToolCallStarted,
        ev.ToolCallFinished,
        ev.ToolCallMalformed,
        ev.ToolActivity,
        ev.ToolOutput,
        ev.MediaProduced,
        ev.OpaqueItem,
    }
)
_Handler: TypeAlias = Callable[[ThinkingProjection, Any], list[ThinkingFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.OutputFinished: ThinkingProjection._output_finished,
    ev.ReasoningStarted: ThinkingProjection._reasoning_started,
    ev.ReasoningFinished: ThinkingProjection._reasoning_finished,
    ev.ReasoningRedacted: ThinkingProjection._start_redacted,
    ev.TextStarted: ThinkingProjection._text_started,
    ev.PartRestored: ThinkingProjection._note_gap,
    ev.TextFinished: ThinkingProjection._text_finished,
    ev.ToolCallStarted: ThinkingProjection._call_started,
    ev.ToolOutput: ThinkingProjection._tool_output,
    ev.MediaProduced: ThinkingProjection._media,
    ev.TurnFinished: ThinkingProjection._turn_finished,
    ev.TurnFailed: ThinkingProjection._turn_failed,
    ev.RunStarted: ThinkingProjection._run_started,
    **dict.fromkeys(get_args(InputEvent), ThinkingProjection._feed_input),
    ev.StepStarted: ThinkingProjection._on_step_started,
    ev.StepDiscarded: ThinkingProjection._on_step_discarded,
    ev.RunFinished: ThinkingProjection._run_ended,
    ev.RunFailed: ThinkingProjection._run_ended,
    ev.RunClosed: ThinkingProjection._end,
}


def create_projection(
    event_id: str | None = None,
    message: Callable[[], Message] | None = None,
    *,
    max_thinking_chars: int | None = None,
    text_shape: TextShape = "text_delta",
) -> ThinkingProjection:
    """Create the projection of one run; see `headrace.projections.registry`."""
    return ThinkingProjection(max_thinking_chars=max_thinking_chars, text_shape=text_shape)
