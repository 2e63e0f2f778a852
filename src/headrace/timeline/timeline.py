"""The phases of a stream in time: when it thought, called, ran tools and wrote, how much
came, and when nothing did. Derived from records; what it looks like is not decided here."""

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

# Shorter pauses are how every stream comes; keeping them would keep every record's time.
MIN_PAUSE_MS = 100
_MIN_GAP_MS = 1000
_GAP_SHARE = 0.1


class Gap(msgspec.Struct, frozen=True, gc=False):
    """A stretch in which nothing came."""

    start_ms: int
    end_ms: int

    @property
    def ms(self) -> int:
        """How long it took."""
        return self.end_ms - self.start_ms


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What `timeline` makes of a stream. Times are the records' `at_ms`. Time that a
    discarded step took is time: its spans are among the others."""

    spans: tuple[Span, ...] = ()
    """By their start."""
    started_ms: int = 0
    ended_ms: int = 0
    first_reasoning_ms: int | None = None
    """How long after the start; of the run itself, nested ones do not count."""
    first_text_ms: int | None = None
    pauses: tuple[Gap, ...] = ()
    """Every stretch of at least 100 ms without a record."""
    pulses: tuple[Pulse, ...] = ()
    usage: Usage = Usage()
    finish: FinishReason | None = None
    error: ErrorInfo | None = None
    outputs: int = 0
    steps: int = 0
    is_successive: bool = False
    """Output numbers are an agent's successive outputs, not alternative answers."""
    provider: str | None = None
    dialect: str | None = None
    model: str | None = None

    @property
    def duration_ms(self) -> int:
        """From the first record to the last."""
        return self.ended_ms - self.started_ms

    @property
    def is_cut(self) -> bool:
        """Whether nothing told how it ended."""
        return self.finish is None and self.error is None

    def gaps(self, at_least_ms: int | None = None) -> list[Gap]:
        """The stretches in which nothing came: of at least that length (no less than
        100 ms), else of a second and a tenth of the whole."""
        least = max(_MIN_GAP_MS, self.duration_ms * _GAP_SHARE)
        least = least if at_least_ms is None else at_least_ms
        return [gap for gap in self.pauses if gap.ms >= least]

    def totals(self) -> dict[SpanKind, Total]:
        """What the spans of each kind add up to; a kind that did not come is not there."""
        by_kind: dict[SpanKind, list[Span]] = {}
        for span in self.spans:
            by_kind.setdefault(span.kind, []).append(span)
        return {kind: total(spans) for kind, spans in by_kind.items()}


def timeline(records: Iterable[Record]) -> Timeline:
    """The timeline of a whole stream, of however it ended."""
    reader = TimelineReader()
    for record in records:
        reader.feed(record)
    reader.close()
    return reader.timeline()


class TimelineReader:
    """Reads records one by one; `feed` and `close` give the spans that have ended, and
    `timeline` what is known so far."""

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
        """The next record; the spans that it ends."""
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
        """There are no more records: what is open ends at the last time seen."""
        ended = self._reader.close()
        self._spans += ended
        return ended

    def timeline(self) -> Timeline:
        """What is known so far; whole after `close`."""
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
        """Nested runs have a course of their own, which nobody asks for."""
        if record.path:
            return
        if isinstance(event, ev.ReasoningRedacted):
            self._first.setdefault("reasoning", self._now_ms - (self._started_ms or 0))
        self._course.feed(record.step, event)


class _Course:
    """Who answers, in how many steps and outputs, how it ended and what it cost."""

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
        """What an earlier turn ended with is not how the stream ended."""
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
        """The fields of a `Timeline` that are known here."""
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
