"""The assembler: folds records into a message, at any moment of a run.

Folding is linear: a text is joined twice, in stretches and at the end. No other code joins deltas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from headrace import events
from headrace.events import Record
from headrace.messages import message as msg
from headrace.messages.builder import MANY_PIECES, PartBuilder, TurnBuilder
from headrace.messages.message import Message, Part
from headrace.outcome import ErrorInfo, FinishReason
from headrace.usage import Usage


def fold(records: Iterable[Record], *, path: tuple[str, ...] = ()) -> Message:
    """Fold records into the assistant message that they make, finished or not.

    One run gives one message: its turns in order, with tool results inside. `path` leads to a
    nested run; the messages of runs that are nested in it are in the results of their calls.
    Other records and unknown events are skipped.
    """
    return _assemble(records, path).message()


def fold_candidates(records: Iterable[Record]) -> list[Message]:
    """Fold a turn with several candidates into one message per output, by output number.

    Each message ends as its own output did. All of them have the usage of the whole turn.
    """
    whole = _assemble(records, ()).message()
    numbers = sorted({end.output for turn in whole.turns for end in turn.outputs})
    return [_candidate(whole, number) for number in numbers]


def _candidate(whole: Message, number: int) -> Message:
    turns = tuple(_only_output(turn, number) for turn in whole.turns)
    finish = next((t.finish for t in reversed(turns) if t.finish is not None), None)
    return msgspec.structs.replace(whole, turns=turns, finish=finish)


def _only_output(turn: msg.Turn, number: int) -> msg.Turn:
    outputs = tuple(end for end in turn.outputs if end.output == number)
    return msgspec.structs.replace(
        turn,
        outputs=outputs,
        parts=tuple(part for part in turn.parts if part.output == number),
        finish=outputs[0].finish if outputs else None,
    )


def _assemble(records: Iterable[Record], path: tuple[str, ...]) -> Assembler:
    builder = Assembler(path)
    for record in records:
        if record.path[: len(path)] == path:
            builder.feed(record)
    return builder


def _requests_of(message: Message) -> Iterator[msg.InputRequest]:
    for turn in message.turns:
        yield from turn.requests
        for result in turn.results:
            if result.message is not None:
                yield from _requests_of(result.message)


_STARTS: dict[type, Callable[..., Part]] = {
    events.TextStarted: msg.TextPart,
    events.ReasoningStarted: msg.ReasoningPart,
    events.ToolCallStarted: msg.CallPart,
    events.ReasoningRedacted: msg.RedactedPart,
    events.ToolOutput: msg.OutputPart,
    events.MediaProduced: msg.MediaPart,
    events.OpaqueItem: msg.OpaquePart,
}
# Looked up for every record.
_DELTA_TYPES = events.DELTA_TYPES
_ATOMIC = (events.ReasoningRedacted, events.ToolOutput, events.MediaProduced, events.OpaqueItem)


class Assembler:
    """A message that is growing: feed it the records of a run, ask for the message at any moment.
    Steps that have finished are put together once. Part numbers are unique in a run, so one table
    serves all turns. `path` leads to the run, if it is nested in another."""

    __slots__ = ("_path", "children", "fields", "is_run", "parts", "turns", "usage")

    def __init__(self, path: tuple[str, ...] = ()) -> None:
        self._path = path
        self.children: dict[str, Assembler] = {}
        """The messages of runs that are nested in this one, by the ids of their calls."""
        self.fields: dict[str, Any] = {"role": "assistant"}
        self.turns: list[TurnBuilder] = []
        self.parts: dict[int, PartBuilder] = {}
        self.is_run = False
        self.usage = Usage()

    def feed(self, record: Record) -> None:
        """Take the next record."""
        event = record.event
        kind = type(event)
        if record.path is not self._path and record.path != self._path:
            self._feed_child(record)
            return
        if kind in _DELTA_TYPES:
            # By far the most; a match statement takes three times as long.
            part = self.parts[event.part]  # type: ignore[union-attr,index]
            pieces = part.text
            pieces.append(event.text)  # type: ignore[union-attr]
            if len(pieces) >= MANY_PIECES:
                part.join()
            return
        self.fields.setdefault("created_at_ms", record.at_ms)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, event, record)

    def requests(self) -> Iterator[tuple[tuple[str, ...], msg.InputRequest]]:
        """Iterate over the requests for input of the last turn and of the runs that are nested in
        it, each with the path of the run that asks."""
        if self.turns:
            for request in self.turns[-1].requests.values():
                yield self._path, request
        for child in self.children.values():
            yield from child.requests()

    def open_requests(self) -> Iterator[msg.InputRequest]:
        """Iterate over the requests for input that wait for an answer, those of nested runs
        included. A request is over when its call has a result."""
        if self.turns:
            turn = self.turns[-1]
            for request in turn.requests.values():
                if request.decision is None and request.call_id not in turn.results:
                    yield request
        for child in self.children.values():
            yield from child.open_requests()

    def all_requests(self) -> Iterator[msg.InputRequest]:
        """Iterate over the requests for input of all turns, and of all nested runs."""
        yield from _requests_of(self.message())
        for child in self.children.values():
            yield from child.all_requests()

    def find(self, path: tuple[str, ...]) -> Assembler | None:
        """Return the message of the run at a path, or None if it does not run."""
        if path == self._path:
            return self
        child = self.children.get(path[len(self._path)])
        return None if child is None else child.find(path)

    def _feed_child(self, record: Record) -> None:
        depth = len(self._path)
        call_id = record.path[depth]
        child = self.children.get(call_id)
        if child is None:
            child = self.children[call_id] = Assembler(record.path[: depth + 1])
        child.feed(record)

    def message(self) -> Message:
        """Return the message so far."""
        return Message(**self.fields, turns=tuple(turn.turn() for turn in self.turns))

    # -- turns and outputs

    def _start_turn(self, event: events.TurnStarted, record: Record) -> None:
        turn = TurnBuilder(record.step)
        for name in ("provider", "dialect", "model", "response_id"):
            turn.fields[name] = getattr(event, name)
        self.turns.append(turn)

    def _start_output(self, event: events.OutputStarted, record: Record) -> None:
        self.turns[-1].outputs[event.output] = msg.OutputEnd(event.output, event.role)

    def _finish_output(self, event: events.OutputFinished, record: Record) -> None:
        outputs = self.turns[-1].outputs
        outputs[event.output] = msgspec.structs.replace(
            outputs[event.output], finish=event.reason, raw_reason=event.raw_reason
        )

    def _finish_turn(self, event: events.TurnFinished, record: Record) -> None:
        self.turns[-1].fields.update(
            finish=event.reason,
            usage=event.usage,
            service_tier=event.service_tier,
            skipped_frames=event.skipped_frames,
            is_complete=event.is_complete,
            provider_data=event.provider_data,
        )
        self._end_turn(event.reason, None, event.usage)

    def _fail_turn(self, event: events.TurnFailed, record: Record) -> None:
        error = ErrorInfo(
            event.category, event.message, event.code, event.retryable, event.retry_after_s
        )
        self.turns[-1].fields.update(
            error=error, usage=event.usage, skipped_frames=event.skipped_frames
        )
        self._end_turn(None, error, event.usage)

    def _end_turn(self, finish: FinishReason | None, error: ErrorInfo | None, usage: Usage) -> None:
        """Set the end of the message, if there is no run around the turn. The usage adds up until
        the total of the run comes."""
        self.usage = self.usage + usage
        self.fields["usage"] = self.usage
        if not self.is_run:
            self.fields.update(finish=finish, error=error)

    # -- parts

    def _start_part(self, event: Any, record: Record) -> None:
        builder = PartBuilder(_STARTS[type(event)], event, record.at_ms)
        if isinstance(event, _ATOMIC):
            builder.fields["ended_ms"] = record.at_ms
        self.parts[event.part] = builder
        self.turns[-1].parts.append(builder)

    def _finish_part(
        self, event: events.TextFinished | events.ReasoningFinished, record: Record
    ) -> None:
        builder = self.parts[event.part]
        builder.fields["ended_ms"] = record.at_ms
        if isinstance(event, events.ReasoningFinished) and event.signature is not None:
            builder.seals.append(msg.Seal("signature", event.signature))

    def _finish_call(self, event: events.ToolCallFinished, record: Record) -> None:
        self.parts[event.part].fields.update(ended_ms=record.at_ms, raw=event.raw, args=event.args)

    def _mark_malformed(self, event: events.ToolCallMalformed, record: Record) -> None:
        self.parts[event.part].fields.update(
            ended_ms=record.at_ms, raw=event.raw, error=event.error
        )

    def _restore_part(self, event: events.PartRestored, record: Record) -> None:
        self.parts[event.part].restore(event.text)

    def _add_activity(self, event: events.ToolActivity, record: Record) -> None:
        activity = msg.Activity(record.at_ms, event.status, event.detail)
        self.parts[event.part].activities.append(activity)

    def _add_seal(self, event: events.PartSealed, record: Record) -> None:
        self.parts[event.part].seals.append(msg.Seal(event.kind, event.value))

    def _add_citation(self, event: events.CitationAdded, record: Record) -> None:
        fields = msgspec.structs.asdict(event)
        number = fields.pop("part")
        target = self.turns[-1] if number is None else self.parts[number]
        target.citations.append(msg.Citation(**fields))

    # -- runs

    def _start_run(self, event: events.RunStarted, record: Record) -> None:
        self.is_run = True
        self.fields.update(run_id=event.run_id, effort=event.effort)

    def _start_tool(self, event: events.ToolStarted, record: Record) -> None:
        self.turns[-1].tool_starts[event.call_id] = record.at_ms

    def _add_result(self, event: events.ToolResult, record: Record) -> None:
        turn = self.turns[-1]
        turn.results[event.call_id] = msg.CallResult(
            call_id=event.call_id,
            content=event.content,
            kind=event.kind,
            is_error=event.is_error,
            started_ms=turn.tool_starts.get(event.call_id),
            ended_ms=record.at_ms,
            edited_args=turn.edited_args(event.call_id),
            message=self._take_child(event.call_id),
        )

    def _take_child(self, call_id: str) -> Message | None:
        """Return what a sub-agent did for a call. A later turn may use the id of the call again."""
        child = self.children.pop(call_id, None)
        return None if child is None else child.message()

    def _add_request(self, event: events.InputRequested, record: Record) -> None:
        fields = msgspec.structs.asdict(event)
        self.turns[-1].requests[event.request_id] = msg.InputRequest(
            **fields, asked_ms=record.at_ms
        )

    def _add_answer(self, event: events.InputAnswered, record: Record) -> None:
        requests = self.turns[-1].requests
        asked = requests.get(event.request_id)
        if asked is not None:
            requests[event.request_id] = msgspec.structs.replace(
                asked,
                decision=event.decision,
                value=event.value,
                is_always=event.is_always,
                reason=event.reason,
                by=event.by,
                answered_ms=record.at_ms,
                state=None,
            )

    def _add_message(self, event: events.UserMessageAdded, record: Record) -> None:
        added = msg.AddedMessage(
            content=event.content, at_ms=record.at_ms, said_at_ms=event.said_at_ms, by=event.by
        )
        turn = self.turns[-1]
        turn.added.append(added)
        turn.forget_settled()

    def _finish_step(self, event: events.StepFinished, record: Record) -> None:
        if event.nudge is not None and self.turns and not self.turns[-1].is_settled:
            self.turns[-1].fields["nudge"] = event.nudge
        for turn in reversed(self.turns):
            if turn.is_settled:
                # So are all before it: a step does not take longer in a long run.
                break
            turn.is_settled = True

    def _discard_step(self, event: events.StepDiscarded, record: Record) -> None:
        self.turns = [turn for turn in self.turns if turn.fields["step"] != event.step]

    def _set_output(self, event: events.OutputProduced, record: Record) -> None:
        self.fields["output"] = event.value

    def _finish_run(self, event: events.RunFinished, record: Record) -> None:
        self.fields.update(finish=event.reason, usage=event.usage)

    def _fail_run(self, event: events.RunFailed, record: Record) -> None:
        self.fields.update(error=ErrorInfo(event.category, event.message), usage=event.usage)


# One table for all: with methods bound to each, an assembler would be four times its size.
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, Callable[[Assembler, Any, Record], None]] = {
    events.TurnStarted: Assembler._start_turn,
    events.OutputStarted: Assembler._start_output,
    events.OutputFinished: Assembler._finish_output,
    events.ReasoningFinished: Assembler._finish_part,
    events.TextFinished: Assembler._finish_part,
    events.ToolCallFinished: Assembler._finish_call,
    events.ToolCallMalformed: Assembler._mark_malformed,
    events.ToolActivity: Assembler._add_activity,
    events.PartSealed: Assembler._add_seal,
    events.PartRestored: Assembler._restore_part,
    events.CitationAdded: Assembler._add_citation,
    events.TurnFinished: Assembler._finish_turn,
    events.TurnFailed: Assembler._fail_turn,
    events.RunStarted: Assembler._start_run,
    events.InputRequested: Assembler._add_request,
    events.InputAnswered: Assembler._add_answer,
    events.UserMessageAdded: Assembler._add_message,
    events.ToolStarted: Assembler._start_tool,
    events.ToolResult: Assembler._add_result,
    events.StepFinished: Assembler._finish_step,
    events.OutputProduced: Assembler._set_output,
    events.StepDiscarded: Assembler._discard_step,
    events.RunFinished: Assembler._finish_run,
    events.RunFailed: Assembler._fail_run,
    **dict.fromkeys(_STARTS, Assembler._start_part),
}
