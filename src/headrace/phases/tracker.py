"""The phase tracker: turns records into notices about reasoning and content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec

from headrace import events as ev
from headrace.errors import UsageError
from headrace.events import PhaseChanged, PhaseStatus, ReasoningDelta, Record, TextDelta
from headrace.outcome import FinishReason

CompletionMode: TypeAlias = Literal["transition", "phase"]
NoticeName: TypeAlias = Literal[
    "phase_change",
    "reasoning_start",
    "reasoning_delta",
    "reasoning_complete",
    "content_start",
    "content_delta",
    "content_complete",
    "client_call",
    "provider_call",
    "citation",
    "usage",
]
NOTICES: tuple[NoticeName, ...] = get_args(NoticeName)


class OutputContext(msgspec.Struct, frozen=True, gc=False):
    """The output that a notice is about, and its status at that moment."""

    total_outputs: int
    """Number of outputs of the turn so far."""
    output: int
    reasoning: PhaseStatus
    """Status of the reasoning."""
    content: PhaseStatus
    """Status of the text."""
    path: tuple[str, ...] = ()
    """Ids of the calls that lead to a nested run; empty for the run itself."""
    step: int = 0
    """Number of the step."""


_NO_CONTEXT = OutputContext(0, 0, "init", "init")


class Notice(msgspec.Struct, frozen=True, gc=False):
    """One notification of the tracker.

    `value` is a `PhaseChanged`, the text of a delta, a `ToolCallFinished` or `ToolCallMalformed`, a
    `CitationAdded` or a `Usage`. It is None for starts and completes.
    """

    name: NoticeName
    """What happened."""
    context: OutputContext
    """The output that the notice is about, and its status."""
    value: Any = None
    """The value of the notice, if its name has one."""


class OutputStats(msgspec.Struct, gc=False):
    """Counters of one output so far. They count deltas, not tokens: a delta may hold several."""

    output: int = 0
    reasoning_deltas: int = 0
    """Deltas of reasoning."""
    reasoning_chars: int = 0
    """Characters of reasoning."""
    content_deltas: int = 0
    """Deltas of text."""
    content_chars: int = 0
    """Characters of text."""
    has_call: bool = False
    """Whether a call has started, of the client or of the provider."""
    is_reasoning_last: bool = False
    """Whether reasoning is the latest thing that arrived, with no text or call after it."""
    is_finished: bool = False
    """Whether the output has finished."""
    finish: FinishReason | None = None
    """Why the output ended. None while it is open, or if the stream broke off without a reason."""


def output_status(stats: OutputStats) -> tuple[PhaseStatus, PhaseStatus]:
    """Return the status of an output's reasoning and of its content.

    Reasoning is complete once text or a call has begun, and pending again if it resumes after them
    (`is_reasoning_last`). In a finished output both are complete, even if one of them is empty.
    """
    if stats.is_finished:
        return "complete", "complete"
    content: PhaseStatus = "pending" if stats.content_deltas else "init"
    if stats.is_reasoning_last:
        return "pending", content
    if stats.content_deltas or stats.has_call:
        return "complete", content
    return ("pending" if stats.reasoning_deltas else "init"), content


class _Output:
    """One output: its counters, and which completes have been sent."""

    __slots__ = ("content_sent", "context", "reasoning_sent", "stats", "status")

    def __init__(self, number: int) -> None:
        self.stats = OutputStats(number)
        self.status: tuple[PhaseStatus, PhaseStatus] = ("init", "init")
        self.context: OutputContext | None = None
        self.reasoning_sent = False
        self.content_sent = False


class _Turn:
    """The current turn of a run or of a nested run."""

    def __init__(self, record: Record, event: ev.TurnStarted) -> None:
        self.path = record.path
        self.step = record.step
        self.is_successive = event.outputs == "successive"
        self.outputs: dict[int, _Output] = {}
        self.output_of_part: dict[int, _Output] = {}
        self.executor_of_part: dict[int, str] = {}
        self.last: _Output | None = None
        self.live: list[_Output] = []
        """Those that are not over: all candidates, or an agent's last output."""


class PhaseTracker:
    """Turns the records of a turn or a run into notices. Feed every record, then call `close()`.

    The notices of one record come in a fixed order: first the completes of outputs that have ended,
    then phase changes, then the start, delta and complete of what the record adds.

    Completes are sent once per (path, step, output), reasoning before content, and only if there
    was any. In mode `transition`, an agent's output is complete when a later output begins or when
    the turn ends in any way; a candidate (n > 1) is complete with its `OutputFinished`, which chat
    streams have at the end of the turn. In mode `phase`, each is sent as soon as its status is
    complete.
    """

    def __init__(self, mode: CompletionMode = "transition") -> None:
        if mode not in get_args(CompletionMode):
            raise UsageError(f"no completion mode {mode!r}: there are transition and phase")
        self._is_by_phase = mode == "phase"
        self._turns: dict[tuple[str, ...], _Turn] = {}
        # The delta before, as the next one nearly always is another of its part: its place, and
        # what its notice had. The kind is None after anything else.
        self._kind: type[ReasoningDelta | TextDelta] | None = None
        self._path: tuple[str, ...] | None = None
        self._part = -1
        self._name: NoticeName = "reasoning_delta"
        self._context = _NO_CONTEXT
        # The counters of its output, and what the fast path has not added to them yet: adding to
        # a struct takes as long as creating a notice.
        self._stats = OutputStats()
        self._deltas = 0
        self._chars = 0
        self._is_read = False

    def feed(self, record: Record) -> list[Notice]:
        """Return the notices of the next record."""
        event: Any = record.event
        kind: type[Any] = type(record.event)
        path = record.path
        if (
            kind is self._kind
            and event.part == self._part
            and (path is self._path or path == self._path)
        ):
            # Fast path: one more delta of the part before, which changes no status.
            text = event.text
            self._deltas += 1
            self._chars += len(text)
            if self._is_read:
                self._count()
            return [Notice(self._name, self._context, text)]
        if self._deltas:
            self._count()
        if kind is ReasoningDelta or kind is TextDelta:
            return self._delta(record, event)
        self._kind = None
        if kind in _TURN_BOUNDARIES:
            notices = self._end(record.path)
            if isinstance(event, ev.TurnStarted):
                self._turns[record.path] = _Turn(record, event)
            return notices
        handle, turn = _HANDLERS.get(kind), self._turns.get(record.path)
        return [] if handle is None or turn is None else handle(self, turn, event)

    def close(self) -> list[Notice]:
        """End the stream and return the `complete` notices that have not been returned yet."""
        return [notice for path in list(self._turns) for notice in self._end(path)]

    def context(self, output: int, path: tuple[str, ...] = ()) -> OutputContext | None:
        """Return the context of an output of the current turn, or None if there is none."""
        turn = self._turns.get(path)
        found = turn.outputs.get(output) if turn is not None else None
        return None if turn is None or found is None else _context(turn, found)

    def stats(self, output: int, path: tuple[str, ...] = ()) -> OutputStats | None:
        """Return the live counters of an output of the current turn, or None if there is none."""
        # Whoever has them sees them grow, from now on with every delta.
        self._is_read = True
        self._count()
        turn = self._turns.get(path)
        found = turn.outputs.get(output) if turn is not None else None
        return None if found is None else found.stats

    # -- the hot path

    def _delta(self, record: Record, event: ReasoningDelta | TextDelta) -> list[Notice]:
        """Return the notices of a delta that may change a status, or begins a part."""
        output = self._find(record.path, event.part)
        if output is None:
            return []
        text, stats = event.text, output.stats
        if type(event) is ReasoningDelta:
            stats.reasoning_deltas += 1
            stats.reasoning_chars += len(text)
            stats.is_reasoning_last = True
            is_first, name = stats.reasoning_deltas == 1, "reasoning"
        else:
            stats.content_deltas += 1
            stats.content_chars += len(text)
            stats.is_reasoning_last = False
            is_first, name = stats.content_deltas == 1, "content"
        turn = self._turns[record.path]
        notices = self._changes(turn, output)
        self._kind, self._stats = type(event), stats
        self._name = cast("NoticeName", f"{name}_delta")
        self._context = context = _context(turn, output)
        if is_first:
            notices.append(Notice(cast("NoticeName", f"{name}_start"), context))
        notices.append(Notice(self._name, context, text))
        return notices

    def _count(self) -> None:
        """Add the deltas of the fast path to the counters of their output."""
        stats, deltas, chars = self._stats, self._deltas, self._chars
        self._deltas = self._chars = 0
        if self._name == "reasoning_delta":
            stats.reasoning_deltas += deltas
            stats.reasoning_chars += chars
        else:
            stats.content_deltas += deltas
            stats.content_chars += chars

    def _find(self, path: tuple[str, ...], part: int) -> _Output | None:
        turn = self._turns.get(path)
        self._path, self._part, self._kind = path, part, None
        return None if turn is None else turn.output_of_part.get(part)

    # -- the turn and its outputs

    def _output_started(self, turn: _Turn, event: ev.OutputStarted) -> list[Notice]:
        notices: list[Notice] = []
        for earlier in turn.live:
            earlier.context = None
            if turn.is_successive:
                notices += self._completes(turn, earlier)
        if turn.is_successive:
            turn.live.clear()
        turn.last = turn.outputs[event.output] = _Output(event.output)
        turn.live.append(turn.last)
        return notices

    def _output_finished(self, turn: _Turn, event: ev.OutputFinished) -> list[Notice]:
        output = turn.outputs.get(event.output)
        if output is None:
            return []
        output.stats.is_finished = True
        output.stats.finish = event.reason
        notices = self._changes(turn, output)
        if not turn.is_successive:
            notices += self._completes(turn, output)
        return notices

    def _turn_ended(self, turn: _Turn, event: ev.TurnFinished | ev.TurnFailed) -> list[Notice]:
        notices = self._end(turn.path)
        if event.usage.is_known:
            notices.append(Notice("usage", _last_context(turn), event.usage))
        return notices

    def _end(self, path: tuple[str, ...]) -> list[Notice]:
        turn = self._turns.pop(path, None)
        self._path, self._part, self._kind = None, -1, None
        if turn is None:
            return []
        return [notice for out in turn.outputs.values() for notice in self._completes(turn, out)]

    # -- parts

    def _part_started(
        self, turn: _Turn, event: ev.ReasoningStarted | ev.TextStarted
    ) -> list[Notice]:
        if event.output in turn.outputs:
            turn.output_of_part[event.part] = turn.outputs[event.output]
        return []

    def _call_started(self, turn: _Turn, event: ev.ToolCallStarted) -> list[Notice]:
        output = turn.outputs.get(event.output)
        if output is None:
            return []
        turn.output_of_part[event.part] = output
        turn.executor_of_part[event.part] = event.executor
        output.stats.has_call = True
        output.stats.is_reasoning_last = False
        return self._changes(turn, output)

    def _call_ended(
        self, turn: _Turn, event: ev.ToolCallFinished | ev.ToolCallMalformed
    ) -> list[Notice]:
        output = turn.output_of_part.get(event.part)
        if output is None:
            return []
        is_client = turn.executor_of_part.get(event.part) == "client"
        name: NoticeName = "client_call" if is_client else "provider_call"
        return [Notice(name, _context(turn, output), event)]

    def _citation_added(self, turn: _Turn, event: ev.CitationAdded) -> list[Notice]:
        output = turn.output_of_part.get(-1 if event.part is None else event.part)
        context = _last_context(turn) if output is None else _context(turn, output)
        return [Notice("citation", context, event)]

    # -- derived notices

    def _changes(self, turn: _Turn, output: _Output) -> list[Notice]:
        before, now = output.status, output_status(output.stats)
        if now == before:
            return []
        output.status, output.context = now, None
        context, number = _context(turn, output), output.stats.output
        notices: list[Notice] = []
        if now[0] != before[0]:
            change = PhaseChanged(number, "reasoning", now[0])
            notices.append(Notice("phase_change", context, change))
        if now[1] != before[1]:
            change = PhaseChanged(number, "content", now[1])
            notices.append(Notice("phase_change", context, change))
        if self._is_by_phase:
            notices += self._completes(turn, output, now)
        return notices

    def _completes(
        self,
        turn: _Turn,
        output: _Output,
        status: tuple[PhaseStatus, PhaseStatus] = ("complete", "complete"),
    ) -> list[Notice]:
        stats, notices = output.stats, list[Notice]()
        if status[0] == "complete" and stats.reasoning_deltas and not output.reasoning_sent:
            output.reasoning_sent = True
            notices.append(Notice("reasoning_complete", _context(turn, output)))
        if status[1] == "complete" and stats.content_deltas and not output.content_sent:
            output.content_sent = True
            notices.append(Notice("content_complete", _context(turn, output)))
        return notices


def _context(turn: _Turn, output: _Output) -> OutputContext:
    """Return the cached context, built again only after a change."""
    if output.context is None:
        reasoning, content = output.status
        output.context = OutputContext(
            len(turn.outputs), output.stats.output, reasoning, content, turn.path, turn.step
        )
    return output.context


def _last_context(turn: _Turn) -> OutputContext:
    if turn.last is None:
        return OutputContext(0, 0, "init", "init", turn.path, turn.step)
    return _context(turn, turn.last)


_Handler: TypeAlias = Callable[[PhaseTracker, _Turn, Any], list[Notice]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.OutputStarted: PhaseTracker._output_started,
    ev.OutputFinished: PhaseTracker._output_finished,
    ev.ReasoningStarted: PhaseTracker._part_started,
    ev.TextStarted: PhaseTracker._part_started,
    ev.ToolCallStarted: PhaseTracker._call_started,
    ev.ToolCallFinished: PhaseTracker._call_ended,
    ev.ToolCallMalformed: PhaseTracker._call_ended,
    ev.CitationAdded: PhaseTracker._citation_added,
    ev.TurnFinished: PhaseTracker._turn_ended,
    ev.TurnFailed: PhaseTracker._turn_ended,
}
_TURN_BOUNDARIES = (ev.TurnStarted, ev.RunFinished, ev.RunFailed, ev.StepDiscarded)
