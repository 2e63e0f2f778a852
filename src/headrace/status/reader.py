"""The status line: what the model says that it is doing, as its reasoning streams."""

from __future__ import annotations

from typing import Literal, TypeAlias

from headrace.events import (
    OutputFinished,
    OutputStarted,
    ReasoningDelta,
    ReasoningFinished,
    ReasoningRedacted,
    ReasoningStarted,
    Record,
    StatusChanged,
    TextDelta,
    TextStarted,
    ToolCallFinished,
    ToolCallStarted,
    ToolOutput,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from headrace.status.reasoning_part import RANKS, Thought
from headrace.status.tool_phrase import tool_phrase

StatusSource: TypeAlias = Literal["title", "marker", "natural", "tool"]

COOLDOWN_MS = 2_000
"""How long a phrase stands before one of a lower source may replace it."""


class StatusReader:
    """Feed it every record of a turn or a run; it returns the phrases to show.

    Sources by rank are a tool, a part's title, a marker and natural language; a lower one
    replaces a higher one only after `COOLDOWN_MS` of record time, a tool's replaces any at
    once, and a new phase of thinking begins afresh. Within a phase nothing is said twice. Of
    candidates only the first is listened to, and nested runs are not.
    """

    def __init__(self) -> None:
        self._thoughts: dict[int, Thought] = {}
        self._rest = ""
        self._output: int | None = None
        self._is_successive = False
        self._is_thinking = False
        self._pending: StatusChanged | None = None
        self._said: set[str] = set()
        self._shown_rank = -1
        self._shown_ms = 0
        self._calls: dict[int, str] = {}

    def feed(self, record: Record) -> list[StatusChanged]:
        """The phrases that this record brings: none, one, or a last one and a tool's."""
        event = record.event
        if record.path:
            return []
        if type(event) is not ReasoningDelta:
            return self._handle_rare(record)
        thought = self._thoughts.get(event.part)
        status = None if thought is None else thought.feed(event.text)[1]
        return [] if status is None else self.show(status, record.at_ms)

    def thought(self, part: int) -> Thought | None:
        """The part that is listened to under this number, for those who want its text too:
        they feed it themselves, and `show` what it says."""
        return self._thoughts.get(part)

    def rest(self, *, of_open: bool = True) -> str:
        """What was held back, since it might have become a marker, and did not: of parts that
        have ended, and `of_open` ones too."""
        rest, self._rest = self._rest, ""
        if of_open:
            rest += "".join(thought.rest() for thought in self._thoughts.values())
        return rest

    def _handle_rare(self, record: Record) -> list[StatusChanged]:
        event, at_ms = record.event, record.at_ms
        match event:
            case ReasoningStarted() if self._is_ours(event.output):
                return self._reasoning_started(event, at_ms)
            case ReasoningFinished():
                self._reasoning_finished(event)
            case ToolOutput() | ReasoningRedacted() | TextStarted() if self._is_ours(event.output):
                return self._released(at_ms)
            case TextDelta():
                self.end_phase()
            case ToolCallStarted() if self._is_ours(event.output):
                return self._tool_called(event, at_ms)
            case ToolCallFinished() if event.part in self._calls:
                return self._tool_asked(event, at_ms)
            case OutputFinished() if self._is_ours(event.output):
                is_cut = event.reason is None or event.reason.word == "max_tokens"
                self._pending = None if is_cut else self._pending
                return self._released(at_ms)
            case OutputStarted() if self._output is None:
                self._output = event.output
            case TurnStarted():
                self._output = None
                self._is_successive = event.outputs == "successive"
            case TurnFinished() | TurnFailed():
                self._pending = None
                self._thoughts.clear()
                self.end_phase()
            case _:
                pass
        return []

    def _is_ours(self, output: int) -> bool:
        return self._is_successive or self._output is None or output == self._output

    # -- reasoning

    def _reasoning_started(self, event: ReasoningStarted, at_ms: int) -> list[StatusChanged]:
        released = self._released(at_ms)
        if not self._is_thinking:
            self._is_thinking = True
            self._said.clear()
            self._shown_rank = -1
        self._thoughts[event.part] = Thought(self._said)
        return released

    def _reasoning_finished(self, event: ReasoningFinished) -> None:
        """The end of the part finishes a phrase, unless the part was cut: what comes next
        will tell."""
        thought = self._thoughts.pop(event.part, None)
        if thought is not None:
            self._rest += thought.rest()
            self._pending = thought.close()

    def _released(self, at_ms: int) -> list[StatusChanged]:
        pending, self._pending = self._pending, None
        return [] if pending is None else self.show(pending, at_ms)

    def end_phase(self) -> None:
        """Text has begun: what is thought after it is another phase."""
        self._is_thinking = False

    # -- tools

    def _tool_called(self, event: ToolCallStarted, at_ms: int) -> list[StatusChanged]:
        released = self._released(at_ms)
        self.end_phase()
        self._said.clear()
        self._calls[event.part] = event.name
        if event.executor == "client":
            return released
        return released + self.show(StatusChanged(tool_phrase(event.name), "tool"), at_ms)

    def _tool_asked(self, event: ToolCallFinished, at_ms: int) -> list[StatusChanged]:
        name = self._calls.pop(event.part)
        return self.show(StatusChanged(tool_phrase(name, event.args), "tool"), at_ms)

    # -- what is shown

    def show(self, status: StatusChanged, at_ms: int) -> list[StatusChanged]:
        """The status, if it may be shown now."""
        rank = RANKS[status.source]
        is_early = rank < self._shown_rank and at_ms - self._shown_ms < COOLDOWN_MS
        if is_early or status.text in self._said:
            return []
        self._said.add(status.text)
        self._shown_rank, self._shown_ms = rank, at_ms
        return [status]
