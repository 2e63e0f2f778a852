"""The ledger of one turn: its start, its outputs, its usage, and its one end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import events as ev
from headrace.errors import LimitExceeded, WireError
from headrace.events import OutputsKind, TurnEvent
from headrace.outcome import ErrorInfo, FinishReason, other_reason
from headrace.secrets.scrub import scrub
from headrace.usage import UNKNOWN_USAGE, Usage
from headrace.wire.ledger.counter import Counters
from headrace.wire.ledger.output import Output
from headrace.wire.ledger.surrogate import SurrogateJoiner
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

# Odds and ends of a response that are kept by name; a peer cannot make it more.
_MAX_PROVIDER_DATA = 64
# How much of an unreadable frame is kept.
_MAX_SKIPPED_CHARS = 1_024
_MAX_CLEANED_BYTES = 64 * 1024
_NO_REASON = "the stream ended before the provider sent a finish reason"
_NO_ANSWER = "the stream ended without an answer"


class Ledger:
    """Takes facts from a dialect. `events` holds the events that have not been collected yet."""

    __slots__ = (
        "_dialect", "_early_skips", "_finish_reason", "_is_strict", "_limits", "_model",
        "_outputs", "_provider", "_provider_data", "_usage", "_usage_source", "clean", "counters",
        "error", "events", "is_complete", "is_finished", "is_started", "outputs_kind",
        "service_tier", "skip_reason", "skipped_frames", "surrogate_joiner",
    )  # fmt: skip

    def __init__(
        self,
        dialect: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        outputs: OutputsKind = "candidates",
        limits: WireLimits = DEFAULT_WIRE_LIMITS,
        first_item: int = 0,
        first_part: int = 0,
        strict: bool = False,
    ) -> None:
        self._dialect = dialect
        self._provider = provider
        self._model = model
        self.outputs_kind: OutputsKind = outputs
        self._limits = limits
        self.counters = Counters(limits, first_item, first_part)
        self._outputs: dict[int, Output] = {}
        self.events: list[TurnEvent] = []
        self._provider_data: dict[str, Any] = {}
        self.is_started = False
        self.is_finished = False
        self._usage: Usage = UNKNOWN_USAGE
        self._usage_source: Callable[[], Usage] | None = None
        self._finish_reason: FinishReason | None = None
        self.error: ErrorInfo | None = None
        self.service_tier: str | None = None
        self.skipped_frames = 0
        self.skip_reason: str | None = None
        self.is_complete = True
        self.clean: Callable[[str], str] = scrub
        """Removes secrets from text of frames that could not be read."""
        self._is_strict = strict
        self._early_skips: list[TurnEvent] = []
        self.surrogate_joiner: SurrogateJoiner | None = None

    def take(self) -> list[TurnEvent]:
        """Return the events since the last call."""
        events = self.events[:]
        self.events.clear()
        return events if self.surrogate_joiner is None else self.surrogate_joiner.feed(events)

    def join_surrogates(self) -> None:
        """Expect halves of surrogate pairs in the texts from now on; `take` joins them."""
        if self.surrogate_joiner is None:
            self.surrogate_joiner = SurrogateJoiner()

    # -- the turn

    def start(
        self,
        *,
        model: str | None = None,
        response_id: str | None = None,
        provider: str | None = None,
        outputs: OutputsKind | None = None,
    ) -> None:
        """Start the turn; only the first call counts. `outputs` is for a dialect that learns only
        then which kind they are."""
        if self.is_started:
            return
        self.is_started = True
        self.outputs_kind = outputs or self.outputs_kind
        self.events.append(
            ev.TurnStarted(
                dialect=self._dialect,
                provider=self._provider or provider or None,
                model=model or self._model,
                response_id=response_id or None,
                outputs=self.outputs_kind,
            )
        )
        self.events += self._early_skips
        self._early_skips.clear()

    def output(self, number: int, role: str = "assistant") -> Output:
        """Return the output with this number, and start it if it is new."""
        output = self._outputs.get(number)
        if output is None:
            output = self._start_output(number, role)
        return output

    def _start_output(self, number: int, role: str) -> Output:
        if len(self._outputs) >= self._limits.max_outputs:
            raise LimitExceeded("max_outputs", self._limits.max_outputs)
        self.start()
        output = Output(number, role, self.events, self.counters, self._limits)
        output.has_gap = bool(self.skipped_frames)
        self._outputs[number] = output
        self.events.append(ev.OutputStarted(number, role))
        return output

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        if self._usage_source is not None:
            source, self._usage_source = self._usage_source, None
            self._usage = self._usage.merge(source())
        return self._usage

    def report(self, usage: Usage) -> None:
        """Take a usage report, running or final."""
        self._usage = self.usage.merge(usage)

    def replace_usage(self, usage: Usage) -> None:
        """Set the usage so far, for a dialect that merges its reports itself."""
        self._usage = usage

    def report_later(self, source: Callable[[], Usage]) -> None:
        """Take a source of usage that is called when the usage is read: for reports that come with
        every chunk."""
        self._usage_source = source

    def cite(self, citation: ev.CitationAdded) -> None:
        """Add a source of the whole response. Ignored after the end."""
        if self.is_finished:
            return
        self.counters.count_citation()
        self.start()
        self.events.append(citation)

    def note(self, name: str, value: Any) -> None:
        """Keep a fact about the response for `provider_data`."""
        if name in self._provider_data or len(self._provider_data) < _MAX_PROVIDER_DATA:
            self._provider_data[name] = value

    def note_fields(self, payload: dict[str, Any], without: frozenset[str]) -> None:
        """Keep all fields of a payload that are not empty, except those named in `without`."""
        for name, value in payload.items():
            if name not in without and value not in (None, {}, []):
                self.note(name, value)

    @property
    def has_outputs(self) -> bool:
        """Whether any output has started."""
        return bool(self._outputs)

    @property
    def output_chars(self) -> int:
        """Number of characters of text, reasoning and arguments of all outputs so far."""
        return sum(output.chars for output in self._outputs.values())

    def skip_frame(self, data: bytes, reason: str) -> None:
        """Report a frame that could not be read. What is open may have lost a piece.

        Raises `LimitExceeded` if there are too many of them, and `WireError` in a strict turn.
        """
        self.skipped_frames += 1
        self.skip_reason = self.skip_reason or reason
        if self.skipped_frames > self._limits.max_skipped_frames:
            raise LimitExceeded("max_skipped_frames", self._limits.max_skipped_frames)
        if self._is_strict:
            raise WireError(f"a frame could not be read: {reason}")
        self.is_complete = False
        for output in self._outputs.values():
            output.mark_gap()
        # Cleaned before it is cut, since half a secret would not be recognized.
        text = self.clean(data[:_MAX_CLEANED_BYTES].decode("utf-8", "replace"))
        event = ev.FrameSkipped(reason=reason, data=text[:_MAX_SKIPPED_CHARS], size=len(data))
        (self.events if self.is_started else self._early_skips).append(event)

    def confirm_complete(self) -> None:
        """Take the notice that the turn lacks nothing, although frames were skipped."""
        self.is_complete = True

    # -- the one end

    def end(self, *, has_terminator: bool) -> None:
        """End the turn, because the terminator came or the bytes ended; decide which end it is."""
        if self.is_finished:
            return
        if self.is_end_known(has_terminator=has_terminator):
            self._finish(self._find_last_finished())
        elif not has_terminator:
            self.fail(ErrorInfo("incomplete", _NO_REASON, retryable=True))
        elif not self._outputs and not self.skipped_frames:
            self.fail(ErrorInfo("incomplete", _NO_ANSWER, retryable=True))
        elif self.skipped_frames:
            self.fail(
                ErrorInfo(
                    "protocol",
                    f"the stream gave no finish reason, and {self.skipped_frames} of its frames"
                    " could not be read",
                )
            )
        else:
            self._finish(None)

    def fail(self, error: ErrorInfo) -> None:
        """End the turn with an error, and close everything."""
        if self.is_finished:
            return
        self.start()
        self.counters.is_limited = False
        for output in self._outputs.values():
            output.close(is_cut=True)
        self.is_finished = True
        self.error = error
        self.events.append(
            ev.TurnFailed(
                category=error.category,
                message=error.message,
                code=error.code,
                retryable=error.retryable,
                retry_after_s=error.retry_after_s,
                usage=self.usage,
                skipped_frames=self.skipped_frames,
            )
        )

    def is_end_known(self, *, has_terminator: bool = False) -> bool:
        """Return whether the provider said how the turn ends. With a terminator, one finished
        output is enough. Without one, every candidate must have a finish reason, or the last step
        of an agent must have one that ends the turn."""
        outputs = list(self._outputs.values())
        told = [output.reason is not None for output in outputs]
        if has_terminator:
            return any(told)
        if self.outputs_kind == "successive":
            steps = [output for output in outputs if output.role == "assistant"] or outputs
            return bool(steps) and steps[-1].ends_turn
        return bool(told) and all(told)

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the turn ends, as soon as it is known; None before that, and if the turn failed."""
        if not self.is_finished and self.is_end_known():
            last = self._find_last_finished()
            return last.real_reason if last else None
        return self._finish_reason

    def _find_last_finished(self) -> Output | None:
        """Return the output whose end is that of the turn: the last finished assistant output."""
        told = [output for output in self._outputs.values() if output.reason is not None]
        said = [output for output in told if output.role == "assistant"]
        return (said or told)[-1]

    def _finish(self, last: Output | None) -> None:
        self.start()
        for output in self._outputs.values():
            output.close(is_cut=False)
        reason = (last.reason if last else None) or other_reason("")
        self.is_finished = True
        self._finish_reason = reason
        self.events.append(
            ev.TurnFinished(
                reason=reason,
                raw_reason=last.raw_reason if last else None,
                usage=self.usage,
                service_tier=self.service_tier,
                skipped_frames=self.skipped_frames,
                is_complete=self.is_complete,
                provider_data=self._provider_data,
            )
        )
