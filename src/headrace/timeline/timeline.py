"""The timeline of a stream: its spans, pauses, speed and outcome, derived from records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from headrace import events as ev
from headrace.events import Record
from headrace.outcome import ErrorInfo, FinishReason
from headrace.timeline.pulse import Pulse, PulseCounter
from headrace.timeline.span import Span, SpanKind, Total, total
from headrace.timeline.span_reader import SpanReader
from headrace.usage import Usage

# Shorter pauses are normal in any stream; keeping them would mean keeping the time of every record.
MIN_PAUSE_MS = 100
_MIN_GAP_MS = 1000
_GAP_SHARE = 0.1


class Gap(msgspec.Struct, frozen=True, gc=False):
    """A stretch of time in which nothing arrived."""

    start_ms: int
    end_ms: int

    @property
    def ms(self) -> int:
        """Duration in milliseconds."""
        return self.end_ms - self.start_ms


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What happened when in a stream. Times are the `at_ms` of the records.

    Discarded steps are included.
    """

    spans: tuple[Span, ...] = ()
    """All spans, sorted by start."""
    started_ms: int = 0
    """Time of the first record."""
    ended_ms: int = 0
    """Time of the last record."""
    first_reasoning_ms: int | None = None
    """Time from the start to the first reasoning, without nested runs."""
    first_text_ms: int | None = None
    """Time from the start to the first text, without nested runs."""
    pauses: tuple[Gap, ...] = ()
    """Every stretch of at least 100 ms without a record."""
    pulses: tuple[Pulse, ...] = ()
    """Rate of characters over time, in bins."""
    usage: Usage = Usage()
    """Token counts of all turns together."""
    finish: FinishReason | None = None
    """The finish reason, if there was one."""
    error: ErrorInfo | None = None
    """The error, if there was one."""
    outputs: int = 0
    """Number of outputs."""
    steps: int = 0
    """Number of steps with a turn."""
    is_successive: bool = False
    """Whether outputs are an agent's successive outputs, not alternative answers."""
    provider: str | None = None
    """Name of the provider."""
    dialect: str | None = None
    """Dialect of the stream."""
    model: str | None = None
    """Name of the model."""

    @property
    def duration_ms(self) -> int:
        """Time from the first record to the last."""
        return self.ended_ms - self.started_ms

    @property
    def is_cut(self) -> bool:
        """Whether the stream ended without a finish reason or an error."""
        return self.finish is None and self.error is None

    def gaps(self, at_least_ms: int | None = None) -> list[Gap]:
        """Return the pauses of at least `at_least_ms` (no less than 100 ms).

        The default is one second or a tenth of the whole duration, whichever is longer.
        """
        least = max(_MIN_GAP_MS, self.duration_ms * _GAP_SHARE)
        least = least if at_least_ms is None else at_least_ms
        return [gap for gap in self.pauses if gap.ms >= least]

    def totals(self) -> dict[SpanKind, Total]:
        """Return the sums per kind of span. Kinds without a span are missing."""
        by_kind: dict[SpanKind, list[Span]] = {}
        for span in self.spans:
            by_kind.setdefault(span.kind, []).append(span)
        return {kind: total(spans) for kind, spans in by_kind.items()}


class Pace(msgspec.Struct, frozen=True, gc=False):
    """Tokens per second. A value is None if the tokens are unknown or arrived at one moment."""

    streaming: float | None = None
    """Reasoning, arguments and text over the time that they took to stream."""
    reasoning: float | None = None
    text: float | None = None
    """Text and call arguments."""


def pace(timeline: Timeline) -> Pace:
    """Return the pace of a run, without its nested runs."""
    output, thought = timeline.usage.output_tokens, timeline.usage.reasoning_tokens
    if output is None:
        return Pace()
    reasoning_ms = _ms(timeline, "reasoning")
    text_ms = _ms(timeline, "text", "call")
    is_hidden = not reasoning_ms and thought is not None
    # Hidden reasoning took time that no span shows.
    streamed = output - thought if is_hidden and thought is not None else output
    if thought is None or is_hidden:
        return Pace(_rate(streamed, reasoning_ms + text_ms))
    return Pace(
        _rate(streamed, reasoning_ms + text_ms),
        _rate(thought, reasoning_ms),
        _rate(output - thought, text_ms),
    )


def _ms(timeline: Timeline, *kinds: SpanKind) -> int:
    return sum(span.ms for span in timeline.spans if span.kind in kinds and not span.path)


def _rate(tokens: int, ms: int) -> float | None:
    return 1000 * tokens / ms if ms > 0 and tokens > 0 else None


def timeline(records: Iterable[Record]) -> Timeline:
    """Return the timeline of a whole stream, however it ended."""
    reader = TimelineReader()
    for record in records:
        reader.feed(record)
    reader.close()
    return reader.timeline()


class TimelineReader:
    """Builds a timeline from records, one by one.

    `feed()` and `close()` return the spans that have ended; `timeline()` returns what is known so
    far.
    """

    def __init__(self) -> None:
        self._reader = SpanReader()
        self._spans: list[Span] = []
        self._started_ms: int | None = None
        self._now_ms = 0
        self._pauses: list[Gap] = []
        self._first: dict[str, int] = {}
        self._counters: dict[tuple[tuple[str, ...], int, str], PulseCounter] = {}
        self._course = _Course()

    def feed(self, record: Record) -> list[Span]:
        """Read the next record; return the spans that it ends."""
        self._pass_time(record.at_ms)
        match record.event:
            case ev.TextDelta(part, text):
                self._count(record.path, part, "text", len(text))
            case ev.ReasoningDelta(part, text):
                self._count(record.path, part, "reasoning", len(text))
            case event:
                self._note(record, event)
        ended = self._reader.feed(record)
        self._spans += ended
        return ended

    def close(self) -> list[Span]:
        """End the stream: return the open spans, which end at the last time seen."""
        ended = self._reader.close()
        self._spans += ended
        return ended

    def timeline(self) -> Timeline:
        """Return the timeline so far; it is complete after `close()`."""
        return Timeline(
            spans=tuple(sorted(self._spans, key=lambda span: span.start_ms)),
            started_ms=self._started_ms or 0,
            ended_ms=self._now_ms,
            first_reasoning_ms=self._first.get("reasoning"),
            first_text_ms=self._first.get("text"),
            pauses=tuple(self._pauses),
            pulses=tuple(counter.pulse(*at) for at, counter in self._counters.items()),
            **self._course.facts(),
        )

    def _pass_time(self, at_ms: int) -> None:
        if self._started_ms is None:
            self._started_ms = self._now_ms = at_ms
        elif at_ms > self._now_ms:
            if at_ms - self._now_ms >= MIN_PAUSE_MS:
                self._pauses.append(Gap(self._now_ms, at_ms))
            self._now_ms = at_ms

    def _count(self, path: tuple[str, ...], part: int, kind: SpanKind, chars: int) -> None:
        after_ms = self._now_ms - (self._started_ms or 0)
        if not path:
            self._first.setdefault(kind, after_ms)
        row = 0 if self._course.is_successive else self._reader.output_of(path, part)
        counter = self._counters.get((path, row, kind))
        if counter is None:
            counter = self._counters[path, row, kind] = PulseCounter()
        counter.add(after_ms, chars)

    def _note(self, record: Record, event: ev.Event | ev.UnknownEvent) -> None:
        """Note an event of the run itself; nested runs are left out."""
        if record.path:
            return
        if isinstance(event, ev.ReasoningRedacted):
            self._first.setdefault("reasoning", self._now_ms - (self._started_ms or 0))
        self._course.feed(record.step, event)


class _Course:
    """The model, steps, outputs, outcome and usage of the stream."""

    def __init__(self) -> None:
        self.is_successive = False
        self._outputs: set[int] = set()
        self._steps: set[int] = set()
        self._is_run = False
        self._model: str | None = None
        self._turn = ev.TurnStarted(dialect="")
        self._usage = Usage()
        self._finish: FinishReason | None = None
        self._error: ErrorInfo | None = None

    def feed(self, step: int, event: ev.Event | ev.UnknownEvent) -> None:
        match event:
            case ev.OutputStarted(output):
                self._outputs.add(output)
            case ev.TurnStarted():
                self._start_turn(step, event)
            case ev.RunStarted(_, model):
                self._is_run, self._model = True, model
            case ev.TurnFinished() | ev.TurnFailed():
                self._usage += event.usage
                if not self._is_run:
                    self._end(event)
            case ev.RunFinished() | ev.RunFailed():
                self._usage = event.usage if event.usage.is_known else self._usage
                self._end(event)
            case _:
                pass

    def _start_turn(self, step: int, turn: ev.TurnStarted) -> None:
        """Forget how an earlier turn ended: it is not how the stream ended."""
        self._steps.add(step)
        self._turn = self._turn if self._turn.dialect else turn
        self.is_successive = self._turn.outputs == "successive"
        self._finish = self._error = None

    def _end(self, event: ev.TurnFinished | ev.TurnFailed | ev.RunFinished | ev.RunFailed) -> None:
        match event:
            case ev.TurnFinished() | ev.RunFinished():
                self._finish = event.reason
            case ev.TurnFailed():
                self._error = ErrorInfo(
                    event.category, event.message, event.code, event.retryable, event.retry_after_s
                )
            case ev.RunFailed():
                self._error = ErrorInfo(event.category, event.message)

    def facts(self) -> dict[str, Any]:
        """Return these facts as fields of a `Timeline`."""
        return {
            "usage": self._usage,
            "finish": self._finish,
            "error": self._error,
            "outputs": len(self._outputs),
            "steps": len(self._steps),
            "is_successive": self.is_successive,
            "provider": self._turn.provider,
            "dialect": self._turn.dialect or None,
            "model": self._turn.model or self._model,
        }
