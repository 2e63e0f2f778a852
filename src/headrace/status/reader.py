"""The status reader: turns records into the status phrases to show."""

from __future__ import annotations

from typing import Literal, TypeAlias

from headrace import events as ev
from headrace.events import ReasoningDelta, Record, StatusChanged
from headrace.status.reasoning_reader import RANKS, ReasoningReader
from headrace.status.tool_phrase import tool_phrase

StatusSource: TypeAlias = Literal["title", "marker", "natural", "tool"]

COOLDOWN_MS = 2_000
"""How long a phrase is kept before a phrase of a lower-ranked source may replace it."""


class StatusReader:
    """Turns the records of a turn or a run into the status phrases to show. Feed every record.

    Sources by rank: tool, part title, marker, natural language. A lower source replaces a higher
    one only after `COOLDOWN_MS` of record time; a tool's status replaces any at once. A phrase that
    comes earlier waits: it is shown with the first record after that time, or at the end of the
    phase. A new thinking phase starts afresh, and no phrase is repeated within a phase. Only the
    first of several candidates is read, and nested runs are ignored.
    """

    __slots__ = (
        "_calls", "_is_thinking", "_output", "_pending", "_rest", "_said", "_shown_ms",
        "_shown_rank", "_thoughts", "is_successive", "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        self._thoughts: dict[int, ReasoningReader] = {}
        self._rest = ""
        self._output: int | None = None
        self.is_successive = False
        """Whether outputs are an agent's successive outputs, not candidates."""
        self._is_thinking = False
        self._pending: StatusChanged | None = None
        self._said: set[str] = set()
        self._shown_rank = -1
        self._shown_ms = 0
        self.waiting: StatusChanged | None = None
        """A phrase that came too early to be shown; see `take_due()`."""
        self._calls: dict[int, str] = {}

    def feed(self, record: Record) -> list[StatusChanged]:
        """Return the phrases of the next record: none, one, or a last one and a tool's."""
        event = record.event
        if record.path:
            return []
        if type(event) is not ReasoningDelta:
            return self._handle_rare(record)
        thought = self._thoughts.get(event.part)
        due = [] if self.waiting is None else self.take_due(record.at_ms)
        status = None if thought is None else thought.feed(event.text)[1]
        return due if status is None else due + self.show(status, record.at_ms)

    def is_shown(self, output: int) -> bool:
        """Return whether an output is the first of several candidates, or an agent's."""
        return self.is_successive or self._output is None or output == self._output

    def thought(self, part: int) -> ReasoningReader | None:
        """Return the open reasoning part with this number, or None.

        For callers that also need the part's text: they feed it themselves and pass its status to
        `show()`.
        """
        return self._thoughts.get(part)

    def rest(self, *, of_open: bool = True) -> str:
        """Return held-back text that turned out not to be a marker.

        Covers parts that have ended and, with `of_open`, open parts too.
        """
        rest, self._rest = self._rest, ""
        if of_open:
            rest += "".join(thought.rest() for thought in self._thoughts.values())
        return rest

    def _handle_rare(self, record: Record) -> list[StatusChanged]:
        due = [] if self.waiting is None else self.take_due(record.at_ms)
        return due + self._handle(record)

    def _handle(self, record: Record) -> list[StatusChanged]:
        event, at_ms = record.event, record.at_ms
        match event:
            case ev.ReasoningStarted() if self.is_shown(event.output):
                return self._reasoning_started(event, at_ms)
            case ev.ReasoningFinished():
                self._reasoning_finished(event)
            case ev.ReasoningRedacted() if self.is_shown(event.output):
                return self._release(at_ms)
            case ev.ToolOutput() | ev.TextStarted() if self.is_shown(event.output):
                return self._release(at_ms) + self._take_waiting(at_ms)
            case ev.TextDelta():
                self.end_phase()
            case ev.ToolCallStarted() if self.is_shown(event.output):
                return self._start_tool(event, at_ms)
            case ev.ToolCallFinished() if event.part in self._calls:
                return self._name_tool(event, at_ms)
            case ev.OutputFinished() if self.is_shown(event.output):
                is_cut = event.reason is None or event.reason.word == "max_tokens"
                self._pending = None if is_cut else self._pending
                return self._release(at_ms) + self._take_waiting(at_ms)
            case ev.OutputStarted() if self._output is None:
                self._output = event.output
            case ev.TurnStarted():
                self._output = None
                self.is_successive = event.outputs == "successive"
            case ev.TurnFinished() | ev.TurnFailed():
                self._pending = self.waiting = None
                self._thoughts.clear()
                self.end_phase()
            case _:
                pass
        return []

    # -- reasoning

    def _reasoning_started(self, event: ev.ReasoningStarted, at_ms: int) -> list[StatusChanged]:
        released = self._release(at_ms)
        if not self._is_thinking:
            self._is_thinking = True
            self._said.clear()
            self._shown_rank = -1
            self.waiting = None
        self._thoughts[event.part] = ReasoningReader(self._said)
        return released

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> None:
        """Keep the last phrase until the next record tells whether the part was cut off."""
        thought = self._thoughts.pop(event.part, None)
        if thought is not None:
            self._rest += thought.rest()
            self._pending = thought.close()

    def _release(self, at_ms: int) -> list[StatusChanged]:
        pending, self._pending = self._pending, None
        return [] if pending is None else self.show(pending, at_ms)

    def end_phase(self) -> None:
        """Note that text has begun: later reasoning is a new phase."""
        self._is_thinking = False

    # -- tools

    def _start_tool(self, event: ev.ToolCallStarted, at_ms: int) -> list[StatusChanged]:
        released = self._release(at_ms) + self._take_waiting(at_ms)
        self.end_phase()
        self._said.clear()
        self._calls[event.part] = event.name
        if event.executor == "client":
            return released
        return released + self.show(StatusChanged(tool_phrase(event.name), "tool"), at_ms)

    def _name_tool(self, event: ev.ToolCallFinished, at_ms: int) -> list[StatusChanged]:
        name = self._calls.pop(event.part)
        return self.show(StatusChanged(tool_phrase(name, event.args), "tool"), at_ms)

    # -- output

    def show(self, status: StatusChanged, at_ms: int) -> list[StatusChanged]:
        """Return `[status]` if it may be shown now. If it comes too early, it waits; of several,
        the latest of the highest source does."""
        rank = RANKS[status.source]
        if status.text in self._said:
            return []
        if rank < self._shown_rank and at_ms - self._shown_ms < COOLDOWN_MS:
            if self.waiting is None or rank >= RANKS[self.waiting.source]:
                self.waiting = status
            return []
        self.waiting = None
        self._said.add(status.text)
        self._shown_rank, self._shown_ms = rank, at_ms
        return [status]

    def take_due(self, at_ms: int) -> list[StatusChanged]:
        """Return the waiting phrase if its time has come."""
        is_due = self.waiting is not None and at_ms - self._shown_ms >= COOLDOWN_MS
        return self._take_waiting(at_ms) if is_due else []

    def _take_waiting(self, at_ms: int) -> list[StatusChanged]:
        """Return the waiting phrase, even if it is early: the phase ends."""
        status, self.waiting = self.waiting, None
        if status is None or status.text in self._said:
            return []
        self._shown_rank = -1
        return self.show(status, at_ms)
