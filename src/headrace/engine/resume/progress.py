"""`RunProgress`: how far a run has come, according to its records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from headrace import events as ev
from headrace.errors import UsageError
from headrace.events import Event, Record
from headrace.events.grammar import PART_START_TYPES, RUN_GRAMMAR, START_TYPE_OF, WHOLE_PART_TYPES
from headrace.messages import Assembler, Turn
from headrace.usage import Usage

_SUSPENDED = ", suspended"


class RunProgress:
    """How far a run has come: feed it the records of the run, in order. `path` leads to the run,
    if it is nested in another; then records of other runs must not be fed."""

    __slots__ = (
        "_ending_calls", "_fruitless_stretches", "_has_finished_step", "_open_outputs",
        "_open_parts", "assembler", "cancel", "compactions", "end", "entry_ids", "epoch",
        "is_suspended", "last_event", "nested", "next_item", "next_part", "nudge", "path",
        "recent", "started_calls", "state", "step",
    )  # fmt: skip

    def __init__(self, path: tuple[str, ...] = ()) -> None:
        self.path = path
        self.state = "before"
        """The state of the run in `headrace.events.grammar`, without the mark of suspension."""
        self.is_suspended = False
        self.step = 0
        self.next_item = 0
        self.next_part = 0
        self.epoch = 0
        """How often the run has been resumed."""
        # Stretches in a row that were killed before they had finished a step, without this one.
        self._fruitless_stretches = 0
        self._has_finished_step = False
        self.started_calls: set[str] = set()
        """Ids of the calls of the last turn that have started."""
        # Calls of the last turn whose tools asked to end the run.
        self._ending_calls: set[str] = set()
        self.nudge: str | None = None
        """What was sent to the model at the end of the last step."""
        self.compactions: list[ev.HistoryCompacted] = []
        self.cancel: ev.CancelRequested | None = None
        self.entry_ids: set[str] = set()
        """Inbox entries that are in the records."""
        self.nested = NestedRuns(path)
        self.assembler = Assembler(path)
        self.last_event: Event | None = None
        self.end: ev.RunFinished | ev.RunFailed | None = None
        """The terminal event, or None before it."""
        self.recent: list[Record] | None = None
        """The records that were fed lately, if somebody wants them."""
        self._open_parts: dict[int, Any] = {}
        self._open_outputs: set[int] = set()

    @classmethod
    def read(cls, records: Iterable[Record]) -> RunProgress:
        """Return the progress of a run. Raises `UsageError` for records that are not those of
        a run from its beginning."""
        progress = cls()
        for number, record in enumerate(records, 1):
            if record.seq != number:
                raise UsageError(f"the records have a gap: expected {number}, got {record.seq}")
            progress.feed(record)
        if progress.state == "before":
            raise UsageError("these are not the records of a run: there is no RunStarted")
        return progress

    def feed(self, record: Record) -> None:
        """Take the next record."""
        self.assembler.feed(record)
        if self.recent is not None:
            self.recent.append(record)
        if record.path != self.path:
            self.nested.feed(record)
            if isinstance(record.event, ev.StepFinished):
                self._note_finished_step()
            return
        event = record.event
        kind: type[Any] = type(event)
        if kind in ev.DELTA_TYPES or isinstance(event, ev.UnknownEvent):
            return
        self.last_event = event
        if isinstance(event, ev.RunResumed):
            self._fruitless_stretches = self.fruitless_stretches
            self._has_finished_step = False
        state = RUN_GRAMMAR.get(self._full_state, {}).get(kind)
        if state is not None:
            self.state, mark, _ = state.partition(_SUSPENDED)
            self.is_suspended = bool(mark)
        self._follow_parts(event)
        self._follow_run(event)

    @property
    def _full_state(self) -> str:
        return self.state + _SUSPENDED * self.is_suspended

    def _follow_parts(self, event: Event) -> None:
        kind = cast("type[Any]", type(event))
        part: Any = event
        if kind in PART_START_TYPES:
            self.next_part = max(self.next_part, part.part + 1)
            self.next_item = max(self.next_item, part.item + 1)
            if kind not in WHOLE_PART_TYPES:
                self._open_parts[part.part] = part
        elif kind in START_TYPE_OF:
            self._open_parts.pop(part.part, None)
        elif isinstance(event, ev.OutputStarted):
            self._open_outputs.add(event.output)
        elif isinstance(event, ev.OutputFinished):
            self._open_outputs.discard(event.output)

    def _follow_run(self, event: Event) -> None:
        match event:
            case ev.StepStarted():
                self.step = event.step
            case ev.TurnStarted():
                self.started_calls, self._ending_calls = set(), set()
            case ev.ToolStarted():
                self.started_calls.add(event.call_id)
            case ev.ToolResult():
                self.nested.forget(event.call_id)
                if event.ends_run:
                    self._ending_calls.add(event.call_id)
            case ev.StepFinished():
                self.nudge = event.nudge
                self._note_finished_step()
            case ev.HistoryCompacted():
                self.compactions.append(event)
            case ev.CancelRequested():
                self.cancel = event
                self._note_entry(event.entry_id)
            case ev.UserMessageAdded() | ev.InputAnswered():
                self._note_entry(event.entry_id)
            case ev.RunResumed():
                self.epoch = event.epoch
            case ev.RunFinished() | ev.RunFailed():
                self.end = event
            case _:
                pass

    def _note_finished_step(self) -> None:
        self._fruitless_stretches, self._has_finished_step = 0, True

    @property
    def fruitless_stretches(self) -> int:
        """How many processes in a row were killed before they had finished a step, of this run or
        of one that is nested in it."""
        was_killed = not (self._has_finished_step or self.is_suspended)
        return self._fruitless_stretches + was_killed

    def _note_entry(self, entry_id: str | None) -> None:
        if entry_id is not None:
            self.entry_ids.add(entry_id)

    @property
    def last_turn(self) -> Turn:
        """The last turn, with the results of its calls so far."""
        turns = self.assembler.turns
        return turns[-1].turn() if turns else Turn()

    @property
    def ending_tool(self) -> str | None:
        """The name of the tool of the last turn that asked to end the run, or None."""
        names = (call.name for call in self.last_turn.calls if call.call_id in self._ending_calls)
        return next(names, None)

    # -- closing what is open

    def close_turn(self, error: ev.TurnFailed) -> list[Event]:
        """Return the events that end the turn that is open, if one is, with this error."""
        if self.state != "turn":
            return []
        events: list[Event] = [self._close_part(start) for start in self._open_parts.values()]
        events += [ev.OutputFinished(number, None) for number in sorted(self._open_outputs)]
        return [*events, error]

    def _close_part(self, start: Any) -> Event:
        if isinstance(start, ev.ReasoningStarted):
            return ev.ReasoningFinished(start.part)
        if isinstance(start, ev.TextStarted):
            return ev.TextFinished(start.part)
        builder = self.assembler.parts[start.part]
        return ev.ToolCallMalformed(
            part=start.part,
            call_id=start.call_id,
            name=start.name,
            raw=builder.whole,
            error="the stream ended before the arguments were complete",
        )


class NestedRuns:
    """The runs that are nested in a run at the moment, by the ids of their calls."""

    __slots__ = ("_path", "running", "usage")

    def __init__(self, path: tuple[str, ...] = ()) -> None:
        self._path = path
        self.running: dict[str, RunProgress] = {}
        self.usage = Usage()
        """What the nested runs that have ended used."""

    def open(self, call_id: str) -> RunProgress:
        """Return the progress of the run that is nested in a call."""
        progress = self.running.get(call_id)
        if progress is None:
            progress = self.running[call_id] = RunProgress((*self._path, call_id))
        return progress

    def feed(self, record: Record) -> None:
        """Take a record of a nested run."""
        depth = len(self._path)
        self.open(record.path[depth]).feed(record)
        event = record.event
        if len(record.path) == depth + 1 and isinstance(event, ev.RunFinished | ev.RunFailed):
            self.usage = self.usage + event.usage

    def forget(self, call_id: str) -> None:
        """Forget the run of a call that has its result."""
        self.running.pop(call_id, None)
