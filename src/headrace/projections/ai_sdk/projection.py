"""Turns records into the AI SDK's UI message stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.content import data_url
from headrace.events import JSONObject, ReasoningDelta, Record, SealKind, TextDelta
from headrace.messages import Message
from headrace.projections.ai_sdk import frame as fr
from headrace.projections.ai_sdk.ending import last_frames, usage_fields
from headrace.projections.ai_sdk.frame import AISDKFrame, ReasoningPiece, TextPiece
from headrace.projections.ai_sdk.open_part import OpenPart, OpenText, OpenThought
from headrace.projections.ai_sdk.provider_metadata import to_metadata
from headrace.projections.ai_sdk.sources import Sources
from headrace.projections.ai_sdk.tool_calls import AISDKToolCalls
from headrace.projections.call_ids import CallIds
from headrace.projections.ending import GOES_ON, Terminal, ending
from headrace.projections.input_frame import prompt_text
from headrace.status.answer_text import AnswerText
from headrace.status.reader import StatusReader
from headrace.usage import Usage

_GAP = "the text was sent with a gap; the stored message is complete"
_LOSS = "frames of the stream could not be read: part of the answer may be missing"


class AISDKProjection:
    """Turns the records of a turn or a run into chunks.

    Feed every record; `close()` returns the last chunks if no `RunClosed` did. A run that waits for
    input ends the stream, and begins another one with the same `messageId` when it goes on; not
    so before the record number `joined_until`, for a client that reads the message from its
    beginning. Only the first of several candidates is shown, and of nested runs only their
    requests for input.
    """

    def __init__(self, message_id: str | None = None, *, joined_until: int = 0) -> None:
        self._message_id = message_id or ""
        self._joined_until = joined_until
        self._status = StatusReader()
        self._calls: AISDKToolCalls | None = None
        self._texts: dict[int, OpenText] = {}
        self._thoughts: dict[int, OpenThought] = {}
        # A block of reasoning whose end is held back, because its signature may follow.
        self._ended_thought: tuple[int, OpenThought] | None = None
        self._is_started = False
        self._is_step_open = False
        self._is_waiting = False
        self._is_over = False
        self._is_run = False
        self._sources = Sources()
        self._added = 0
        self._metadata: JSONObject = {}
        self._usage = Usage()
        self._terminal: Terminal | None = None
        self._ended: ev.OutputFinished | None = None

    def feed(self, record: Record) -> list[AISDKFrame]:
        """Return the chunks of the next record."""
        event = record.event
        if self._is_over:
            return []
        if record.path:
            return self._feed_nested(record)
        kind = type(event)
        if kind is TextDelta:
            return self._text(event)  # type: ignore[arg-type]
        if kind is ReasoningDelta:
            return self._thought(event, record.at_ms)  # type: ignore[arg-type]
        return self._handle_rare(record)

    def close(self) -> list[AISDKFrame]:
        """End the stream: return the last chunks, unless they were sent already."""
        if self._is_over or self._is_waiting:
            return []
        return [*self._start(None), *self._end(None)]

    def _feed_nested(self, record: Record) -> list[AISDKFrame]:
        """Show what a sub-agent asks for; the rest of it is not shown."""
        event, calls = record.event, self._calls
        if calls is None:
            return []
        if isinstance(event, ev.InputRequested):
            return calls.request(event, record.path)
        return calls.answer(event) if isinstance(event, ev.InputAnswered) else []

    def _handle_rare(self, record: Record) -> list[AISDKFrame]:
        event = record.event
        frames = self._start(event)
        calls = self._calls
        assert calls is not None
        calls.step = record.step
        if isinstance(event, GOES_ON):
            self._terminal = None
        if not isinstance(event, ev.PartSealed):
            frames += self._flush_thought()
        statuses = self._status_frames(self._status.feed(record))
        handle = _HANDLERS.get(type(event))
        if handle is not None:
            frames += handle(self, event)
        elif isinstance(event, ev.RunSuspended | ev.RunResumed):
            frames += self._pause(event, is_joined=record.seq <= self._joined_until)
        else:
            frames += calls.feed(event)
        return [*frames, *statuses] if not self._is_over and not self._is_waiting else frames

    def _status_frames(self, statuses: list[ev.StatusChanged]) -> list[AISDKFrame]:
        return [
            fr.Status({"text": status.text, "source": status.source}, "status", True)
            for status in statuses
        ]

    def _start(self, event: object) -> list[AISDKFrame]:
        if self._is_started:
            return []
        self._is_started = True
        self._is_run = isinstance(event, ev.RunStarted)
        if isinstance(event, ev.RunStarted):
            fields = {"runId": event.run_id, "model": event.model, "effort": event.effort}
        else:
            fields = {"model": event.model} if isinstance(event, ev.TurnStarted) else {}
        metadata = {name: value for name, value in fields.items() if value is not None}
        if not self._message_id:
            response_id = event.response_id if isinstance(event, ev.TurnStarted) else None
            self._message_id = f"msg_{metadata.get('runId') or response_id or 0}"
        self._calls = AISDKToolCalls(CallIds(self._message_id))
        return [fr.Start(self._message_id, metadata or None)]

    # -- text

    def _text_started(self, event: ev.TextStarted) -> list[AISDKFrame]:
        if not self._status.is_shown(event.output):
            return []
        self._texts[event.part] = part = OpenText(id=f"p{event.part}", reader=AnswerText())
        return [fr.TextStart(part.id)]

    def _text(self, event: TextDelta) -> list[AISDKFrame]:
        part = self._texts.get(event.part)
        if part is None:
            return []
        self._status.end_phase()
        text = part.reader.feed(event.text)
        return [TextPiece(part.id, text)] if text else []

    def _text_finished(self, event: ev.TextFinished) -> list[AISDKFrame]:
        part = self._texts.pop(event.part, None)
        return [] if part is None else self._end_text(part)

    def _end_text(self, part: OpenText) -> list[AISDKFrame]:
        rest = part.reader.close()
        metadata = self._seals(part)
        pieces: list[AISDKFrame] = [TextPiece(part.id, rest)] if rest else []
        return [*pieces, fr.TextEnd(part.id, metadata)]

    def _seals(self, part: OpenPart) -> fr.ProviderMetadata | None:
        assert self._calls is not None
        return to_metadata(self._calls.dialect, part.seals, part.item_id)

    def _part_restored(self, event: ev.PartRestored) -> list[AISDKFrame]:
        """Note that a text with a gap was sent, which this protocol cannot take back."""
        if event.part in self._texts or event.part in self._thoughts:
            self._metadata["warning"] = _GAP
        return []

    # -- reasoning

    def _reasoning_started(self, event: ev.ReasoningStarted) -> list[AISDKFrame]:
        reader = self._status.thought(event.part)
        if reader is None:
            return []
        part = OpenThought(id=f"p{event.part}", reader=reader, item_id=event.item_id)
        self._thoughts[event.part] = part
        return [fr.ReasoningStart(part.id)]

    def _thought(self, event: ReasoningDelta, at_ms: int) -> list[AISDKFrame]:
        part = self._thoughts.get(event.part)
        if part is None:
            return []
        text, status = part.reader.feed(event.text)
        pieces: list[AISDKFrame] = [ReasoningPiece(part.id, text)] if text else []
        if status is None and self._status.waiting is None:
            return pieces
        said = self._status.take_due(at_ms)
        if status is not None:
            said += self._status.show(status, at_ms)
        return [*pieces, *self._status_frames(said)]

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> list[AISDKFrame]:
        part = self._thoughts.pop(event.part, None)
        if part is None:
            return []
        if event.signature is not None:
            part.seals["signature"] = event.signature
        self._ended_thought = (event.part, part)
        rest = self._status.rest(of_open=False)
        return [ReasoningPiece(part.id, rest)] if rest else []

    def _flush_thought(self) -> list[AISDKFrame]:
        """End the block of reasoning whose end was held back."""
        if self._ended_thought is None:
            return []
        part, self._ended_thought = self._ended_thought[1], None
        return [fr.ReasoningEnd(part.id, self._seals(part))]

    def _reasoning_redacted(self, event: ev.ReasoningRedacted) -> list[AISDKFrame]:
        if not self._status.is_shown(event.output):
            return []
        seals: dict[SealKind, str] = {"encrypted": event.data}
        part = OpenPart(id=f"p{event.part}", item_id=event.item_id, seals=seals)
        return [fr.ReasoningStart(part.id), fr.ReasoningEnd(part.id, self._seals(part))]

    def _part_sealed(self, event: ev.PartSealed) -> list[AISDKFrame]:
        """Keep a seal for the end of its part. One that comes later is in the stored message."""
        part: OpenPart | None = self._texts.get(event.part) or self._thoughts.get(event.part)
        if self._ended_thought is not None and self._ended_thought[0] == event.part:
            part = self._ended_thought[1]
        if part is not None:
            part.seals[event.kind] = event.value
        elif self._calls is not None:
            self._calls.seal(event)
        return []

    # -- other parts

    def _call_started(self, event: ev.ToolCallStarted) -> list[AISDKFrame]:
        if self._calls is None or not self._status.is_shown(event.output):
            return []
        return self._calls.start(event)

    def _call_delta(self, event: ev.ToolCallArgsDelta) -> list[AISDKFrame]:
        return [] if self._calls is None else self._calls.delta(event)

    def _tool_output(self, event: ev.ToolOutput) -> list[AISDKFrame]:
        if self._calls is None or not self._status.is_shown(event.output):
            return []
        return self._calls.output(event)

    def _media(self, event: ev.MediaProduced) -> list[AISDKFrame]:
        if not self._status.is_shown(event.output):
            return []
        return [fr.File(data_url(event), event.media_type)]

    def _opaque(self, event: ev.OpaqueItem) -> list[AISDKFrame]:
        if self._calls is None or not self._status.is_shown(event.output):
            return []
        return [fr.Custom(f"{self._calls.dialect or 'provider'}.{event.kind}")]

    def _citation(self, event: ev.CitationAdded) -> list[AISDKFrame]:
        return [*self._sources.add(event)]

    # -- input

    def _show_request(self, event: ev.InputRequested) -> list[AISDKFrame]:
        return [] if self._calls is None else self._calls.request(event, ())

    def _show_answer(self, event: ev.InputAnswered) -> list[AISDKFrame]:
        return [] if self._calls is None else self._calls.answer(event)

    def _user_message(self, event: ev.UserMessageAdded) -> list[AISDKFrame]:
        self._added += 1
        id = event.entry_id or f"{self._message_id}-user-{self._added}"
        return [fr.UserMessage(id, {"text": prompt_text(event.content)})]

    def _pause(
        self, event: ev.RunSuspended | ev.RunResumed, *, is_joined: bool
    ) -> list[AISDKFrame]:
        """End the stream of a run that waits for input, or begin the next one."""
        assert self._calls is not None
        if isinstance(event, ev.RunResumed):
            was_waiting, self._is_waiting = self._is_waiting, False
            return [fr.Start(self._message_id)] if was_waiting else []
        if event.reason != "input":
            return []
        again = self._calls.ask_again(event.waiting)
        if is_joined:
            return again
        self._is_waiting = True
        metadata = self._end_metadata(self._usage)
        last = fr.Finish("tool-calls", metadata or None)
        return [*again, *self._finish_step(), last, fr.END_OF_FRAMES]

    # -- turns, steps and the end

    def _turn_started(self, event: ev.TurnStarted) -> list[AISDKFrame]:
        assert self._calls is not None
        self._calls.dialect = event.dialect
        return [] if self._is_run else self._step_started()

    def _step_started(self, event: object = None) -> list[AISDKFrame]:
        self._is_step_open = True
        return [fr.StartStep()]

    def _finish_step(self, event: object = None) -> list[AISDKFrame]:
        """End the step and everything that is open in it."""
        frames = self._close_parts()
        if not self._is_step_open:
            return frames
        self._is_step_open = False
        return [*frames, fr.FinishStep()]

    def _close_parts(self) -> list[AISDKFrame]:
        # Parts are open here only if the records broke off.
        frames = self._flush_thought()
        for thought in self._thoughts.values():
            frames.append(fr.ReasoningEnd(thought.id, self._seals(thought)))
        for text in self._texts.values():
            frames += self._end_text(text)
        self._thoughts, self._texts = {}, {}
        return frames if self._calls is None else [*frames, *self._calls.flush_ended()]

    def _step_discarded(self, event: ev.StepDiscarded) -> list[AISDKFrame]:
        assert self._calls is not None
        self._calls.discard(event.step)
        self._thoughts, self._texts, self._ended_thought = {}, {}, None
        self._sources.clear()
        return [fr.ResetStep()]

    def _output_finished(self, event: ev.OutputFinished) -> list[AISDKFrame]:
        if self._status.is_shown(event.output) and not self._status.is_successive:
            self._ended = event
        return []

    def _turn_finished(self, event: ev.TurnFinished) -> list[AISDKFrame]:
        """Note how the turn ended. With several candidates, the one that is shown decides."""
        ended, self._ended = self._ended, None
        reason = event.reason if ended is None or ended.reason is None else ended.reason
        self._terminal = msgspec.structs.replace(event, reason=reason)
        self._usage += event.usage
        if not event.is_complete:
            self._metadata["warning"] = _LOSS
        return self._close_parts()

    def _turn_failed(self, event: ev.TurnFailed) -> list[AISDKFrame]:
        self._terminal = event
        self._usage += event.usage
        return self._close_parts()

    def _output_produced(self, event: ev.OutputProduced) -> list[AISDKFrame]:
        return [fr.Output(event.value)]

    def _run_ended(self, event: ev.RunFinished | ev.RunFailed) -> list[AISDKFrame]:
        self._terminal = event
        self._usage = event.usage
        return self._finish_step()

    def _end(self, closed: ev.RunClosed | None) -> list[AISDKFrame]:
        self._is_over = True
        end = ending(self._terminal, closed, "run" if self._is_run else "turn")
        metadata = self._end_metadata(self._usage)
        frames: list[AISDKFrame] = [fr.Start(self._message_id)] if self._is_waiting else []
        return [*frames, *self._finish_step(), *last_frames(end, self._terminal, metadata)]

    def _end_metadata(self, usage: Usage) -> JSONObject:
        fields = usage_fields(usage)
        return {**self._metadata, "usage": fields} if fields else dict(self._metadata)


_Handler: TypeAlias = Callable[[AISDKProjection, Any], list[AISDKFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.ToolCallArgsDelta: AISDKProjection._call_delta,
    ev.TurnStarted: AISDKProjection._turn_started,
    ev.OutputFinished: AISDKProjection._output_finished,
    ev.TextStarted: AISDKProjection._text_started,
    ev.TextFinished: AISDKProjection._text_finished,
    ev.PartRestored: AISDKProjection._part_restored,
    ev.ReasoningStarted: AISDKProjection._reasoning_started,
    ev.ReasoningFinished: AISDKProjection._reasoning_finished,
    ev.ReasoningRedacted: AISDKProjection._reasoning_redacted,
    ev.PartSealed: AISDKProjection._part_sealed,
    ev.ToolCallStarted: AISDKProjection._call_started,
    ev.ToolOutput: AISDKProjection._tool_output,
    ev.MediaProduced: AISDKProjection._media,
    ev.OpaqueItem: AISDKProjection._opaque,
    ev.CitationAdded: AISDKProjection._citation,
    ev.TurnFinished: AISDKProjection._turn_finished,
    ev.TurnFailed: AISDKProjection._turn_failed,
    ev.InputRequested: AISDKProjection._show_request,
    ev.InputAnswered: AISDKProjection._show_answer,
    ev.UserMessageAdded: AISDKProjection._user_message,
    ev.StepStarted: AISDKProjection._step_started,
    ev.StepDiscarded: AISDKProjection._step_discarded,
    ev.StepFinished: AISDKProjection._finish_step,
    ev.OutputProduced: AISDKProjection._output_produced,
    ev.RunFinished: AISDKProjection._run_ended,
    ev.RunFailed: AISDKProjection._run_ended,
    ev.RunClosed: AISDKProjection._end,
}


def create_projection(
    event_id: str | None = None,
    message: Callable[[], Message] | None = None,
    *,
    joined_until: int = 0,
) -> AISDKProjection:
    """Create the projection of one run; see `headrace.projections.registry`."""
    return AISDKProjection(event_id, joined_until=joined_until)
