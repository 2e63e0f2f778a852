"""Turns records into events of the Messages protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from headrace import events as ev
from headrace.events import JSONObject, ReasoningDelta, Record, TextDelta, ToolCallArgsDelta
from headrace.messages import Message
from headrace.messages.message import Seal
from headrace.messages.seal_envelope import seal_part
from headrace.projections.anthropic_messages import frame as fr
from headrace.projections.anthropic_messages.block import (
    DIALECT,
    BlockKind,
    OpenBlock,
    describe_start,
)
from headrace.projections.anthropic_messages.frame import BlockStart, BlockStop, MessagesFrame
from headrace.projections.ending import GOES_ON, Terminal, ending

_GAP = "the text was sent with a gap, because frames of the provider could not be read"
_LOSS = "frames of the provider could not be read: part of the answer may be missing"
_DISCARDED = "a step of the answer failed and is tried again, which this stream cannot show: {}"
_BROKEN_CALL = "the arguments of a call were sent with a gap"
_KEPT = ("container", "stop_details")


class MessagesProjection:
    """Turns the records of a turn or a run into events.

    Feed every record; `close()` returns the last frames if no `RunClosed` did. Blocks never
    overlap: a part that begins while another grows waits for it, or, if that is text, interrupts
    it. Of several candidates the first is shown. Of a run, the calls that the server answers itself
    are not shown, unless `client_tools` is set.
    """

    def __init__(
        self,
        response_id: str | None = None,
        *,
        model: str | None = None,
        client_tools: bool | None = None,
    ) -> None:
        self._id = response_id
        self._model = model
        self._client_tools = client_tools
        self._is_run = False
        self._is_started = False
        self._is_successive = False
        self._output: int | None = None
        self._origin: ev.TurnStarted | None = None
        self._open: OpenBlock | None = None
        self._count = 0
        self._texts: dict[int, ev.TextStarted] = {}
        # The events of parts that wait for the open block, by part.
        self._held: dict[int, list[Any]] = {}
        self._sealed_starts: dict[int, ev.ReasoningStarted] = {}
        self._late_citations: list[JSONObject] = []
        self._terminal: Terminal | None = None
        self._error: str | None = None
        self._warning: str | None = None
        self._provider_data: JSONObject = {}
        self._is_step_shown = False
        self._is_over = False

    def feed(self, record: Record) -> list[MessagesFrame]:
        """Return the frames of the next record."""
        if record.path or self._is_over:
            return []
        event = record.event
        block, part = self._open, getattr(event, "part", None)
        if block is not None and part == block.part:
            return self._extend(block, event)
        if isinstance(event, GOES_ON):
            self._terminal = None
        handle = _HANDLERS.get(type(event))
        if handle is not None:
            return handle(self, event)
        return [] if part is None else self._feed_part(part, event)

    def close(self) -> list[MessagesFrame]:
        """End the stream: return the last frames, unless they were sent already."""
        return [] if self._is_over else self._end(None)

    # -- blocks

    def _feed_part(self, part: int, event: Any) -> list[MessagesFrame]:
        """Take an event of a part that has no open block."""
        if part in self._held:
            self._held[part].append(event)
            return []
        if isinstance(event, ev.PartRestored):
            self._warning = self._warning or _GAP
        if not self._begins(part, event):
            return self._feed_late(part, event)
        if self._held or not (self._open is None or self._open.can_yield):
            self._held[part] = [event]
            return []
        return self._begin(part, event)

    def _begins(self, part: int, event: Any) -> bool:
        """Return whether a block begins with this event. Text begins with its first delta."""
        if isinstance(event, TextDelta):
            return part in self._texts
        if isinstance(event, ev.ReasoningRedacted):
            return self._is_shown(event.output)
        return (
            hasattr(event, "output")
            and self._is_shown(event.output)
            and describe_start(event, self._is_ours, self._shows_calls) is not None
        )

    def _begin(self, part: int, event: Any) -> list[MessagesFrame]:
        frames = self._settle()
        if isinstance(event, TextDelta):
            self._open = self._add("text", part, self._texts[part])
            content: JSONObject = {"type": "text", "text": ""}
            start = BlockStart(self._open.index, content)
            return [*frames, start, *self._extend(self._open, event)]
        if isinstance(event, ev.ReasoningRedacted):
            self._open = self._add("whole", part, event)
            data = event.data
            if not self._is_ours:
                data = seal_part(self._origin, event, [], data=event.data)
            return [*frames, BlockStart(self._open.index, _to_redacted_block(data))]
        block = describe_start(event, self._is_ours, self._shows_calls) or {}
        self._open = self._add(_kind_of(event), part, event)
        if isinstance(event, ev.ReasoningStarted):
            self._sealed_starts[part] = event
        return [*frames, BlockStart(self._open.index, block)]

    def _add(self, kind: BlockKind, part: int, start: Any) -> OpenBlock:
        self._is_step_shown = True
        self._count += 1
        return OpenBlock(self._count - 1, kind, part, start)

    def _extend(self, block: OpenBlock, event: Any) -> list[MessagesFrame]:
        """Return the frames of an event of the open block."""
        kind = cast("type[object]", type(event))
        if kind is TextDelta:
            return block.add(fr.TextBody(event.text))
        if kind is ReasoningDelta:
            return block.add(fr.ThinkingBody(event.text))
        if kind is ToolCallArgsDelta:
            return block.add_args(event.text)
        match event:
            case ev.ReasoningFinished():
                block.is_ended = True
                if event.signature:
                    block.seals.append(Seal("signature", event.signature))
            case ev.TextFinished():
                block.is_ended = True
            case ev.ToolCallFinished() | ev.ToolCallMalformed():
                return [*block.end_call(), *self._release()]
            case ev.PartSealed():
                block.seals.append(Seal(event.kind, event.value))
            case ev.CitationAdded():
                return self._cite(event, block)
            case ev.PartRestored():
                return self._restore(block, event)
            case _:
                pass
        return self._release() if block.is_ended else []

    def _restore(self, block: OpenBlock, event: ev.PartRestored) -> list[MessagesFrame]:
        """Complete the arguments of a call; of a text only the gap can be told."""
        if block.kind != "call":
            self._warning = self._warning or _GAP
            return []
        rest = block.restore(event.text)
        if rest is None:
            self._error = _BROKEN_CALL
        return block.add_args(rest) if rest else []

    def _release(self) -> list[MessagesFrame]:
        """Send the parts that waited, as far as blocks end."""
        frames: list[MessagesFrame] = []
        while self._held and (self._open is None or self._open.can_yield):
            part = next(iter(self._held))
            first, *rest = self._held.pop(part)
            # What waits behind this part must not be sent before it.
            waiting, self._held = self._held, {}
            frames += self._begin(part, first)
            for event in rest:
                frames += self._extend(self._open, event) if self._open else []
            self._held = waiting
        return frames

    def _settle(self) -> list[MessagesFrame]:
        """End the open block, with its signature."""
        block, self._open = self._open, None
        if block is None:
            return []
        frames: list[MessagesFrame] = []
        if block.kind == "thinking":
            signature = self._sign(block)
            frames += block.add(fr.SignatureBody(signature)) if signature else []
        frames.append(BlockStop(block.index))
        if block.seals and block.kind in ("call", "text"):
            is_text = block.kind == "text"
            more = {"is_of_text": True} if is_text else {"call_id": block.start.call_id}
            data = seal_part(self._origin, block.start, block.seals, **more)
            frames += self._add_whole(_to_redacted_block(data))
        return frames

    def _sign(self, block: OpenBlock) -> str | None:
        if not self._is_ours:
            return seal_part(self._origin, block.start, block.seals)
        signatures = [seal.value for seal in block.seals if seal.kind == "signature"]
        return signatures[-1] if signatures else None

    def _add_whole(self, content: JSONObject) -> list[MessagesFrame]:
        """Return a block that is complete at once."""
        index, self._count = self._count, self._count + 1
        return [BlockStart(index, content), BlockStop(index)]

    # -- late facts

    def _feed_late(self, part: int, event: Any) -> list[MessagesFrame]:
        """Take a citation or a signature whose block has stopped."""
        if isinstance(event, ev.CitationAdded) and part in self._texts:
            return self._cite(event, None)
        start = self._sealed_starts.get(part)
        if not isinstance(event, ev.PartSealed) or start is None or self._is_ours:
            return []
        # Parts of one item are put together again when the history comes back.
        seal = seal_part(self._origin, start, [Seal(event.kind, event.value)])
        if not (self._open is None or self._open.can_yield):
            return []
        content = {"type": "thinking", "thinking": "", "signature": seal}
        return [*self._settle(), *self._add_whole(content)]

    def _cite(self, event: ev.CitationAdded, block: OpenBlock | None) -> list[MessagesFrame]:
        citation = fr.to_citation(
            event.raw,
            self._is_ours,
            ref=event.ref or "",
            title=event.title or "",
            quote=event.quote or "",
        )
        if citation is None:
            return []
        if block is not None and block.kind == "text":
            return block.add(fr.CitationBody(citation))
        self._late_citations.append(citation)
        return []

    def _add_citation(self, event: ev.CitationAdded) -> list[MessagesFrame]:
        return self._cite(event, None) if event.part is None else self._feed_part(event.part, event)

    # -- turns, runs and the end

    @property
    def _is_ours(self) -> bool:
        return self._origin is not None and self._origin.dialect == DIALECT

    @property
    def _shows_calls(self) -> bool:
        return not self._is_run if self._client_tools is None else self._client_tools

    def _is_shown(self, output: int) -> bool:
        return self._is_successive or output == self._output

    def _text_started(self, event: ev.TextStarted) -> list[MessagesFrame]:
        if self._is_shown(event.output):
            self._texts[event.part] = event
        return []

    def _run_started(self, event: ev.RunStarted) -> list[MessagesFrame]:
        self._is_run = True
        self._id = self._id or f"msg_{event.run_id}"
        self._model = self._model or event.model
        return self._start()

    def _turn_started(self, event: ev.TurnStarted) -> list[MessagesFrame]:
        self._origin = event
        self._id = self._id or event.response_id
        self._model = self._model or event.model
        self._is_successive = event.outputs == "successive"
        self._output = None
        return self._start()

    def _start(self) -> list[MessagesFrame]:
        if self._is_started:
            return []
        self._is_started = True
        message: JSONObject = {
            "id": self._id or "",
            "type": "message",
            "role": "assistant",
            "model": self._model or "",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        return [fr.MessageStart(message), fr.Ping()]

    def _output_started(self, event: ev.OutputStarted) -> list[MessagesFrame]:
        if self._output is None:
            self._output = event.output
        return []

    def _output_finished(self, event: ev.OutputFinished) -> list[MessagesFrame]:
        return self._settle() if self._open is not None and self._open.is_ended else []

    def _turn_finished(self, event: ev.TurnFinished) -> list[MessagesFrame]:
        self._terminal = event
        self._provider_data = event.provider_data
        if not event.is_complete:
            self._warning = _LOSS
        return self._settle()

    def _step_started(self, event: ev.StepStarted) -> list[MessagesFrame]:
        self._is_step_shown = False
        return []

    def _step_discarded(self, event: ev.StepDiscarded) -> list[MessagesFrame]:
        """End the stream if something of the step was sent: it cannot be taken back."""
        if not self._is_step_shown:
            return []
        self._is_over = True
        return [fr.ErrorFrame(fr.to_error("interrupted", _DISCARDED.format(event.reason)))]

    def _turn_failed(self, event: ev.TurnFailed) -> list[MessagesFrame]:
        self._terminal = event
        return self._settle()

    def _run_ended(self, event: ev.RunFinished | ev.RunFailed) -> list[MessagesFrame]:
        self._terminal = event
        return self._settle()

    def _end(self, closed: ev.RunClosed | None) -> list[MessagesFrame]:
        self._is_over = True
        terminal = self._terminal
        end = ending(terminal, closed)
        frames = self._settle()
        if end.kind == "finished" and self._error is None:
            assert isinstance(terminal, ev.TurnFinished | ev.RunFinished)
            return [*frames, *self._finish(terminal), fr.MessageStop()]
        if end.kind == "finished":
            error = fr.to_error("protocol", self._error or "")
        elif end.kind == "cancelled":
            error = fr.to_error("cancelled", "the answer was cancelled")
        else:
            error = fr.to_error(end.category, end.message)
        return [*frames, fr.ErrorFrame(error)]

    def _finish(self, terminal: ev.TurnFinished | ev.RunFinished) -> list[MessagesFrame]:
        frames: list[MessagesFrame] = []
        if self._late_citations:
            # Sources of the whole answer, which came when its blocks had stopped.
            text = {"type": "text", "text": "", "citations": self._late_citations}
            frames += self._add_whole(text)
        word = fr.to_stop_word(terminal.reason)
        delta: JSONObject = {
            "stop_reason": word,
            "stop_sequence": self._provider_data.get("stop_sequence"),
        }
        if self._is_ours:
            facts = self._provider_data
            delta |= {name: facts[name] for name in _KEPT if facts.get(name) is not None}
        return [*frames, fr.MessageDelta(delta, fr.to_usage(terminal.usage), self._warning)]


def _kind_of(event: Any) -> BlockKind:
    if isinstance(event, ev.ReasoningStarted):
        return "thinking"
    return "call" if isinstance(event, ev.ToolCallStarted) else "whole"


def _to_redacted_block(data: str) -> JSONObject:
    return {"type": "redacted_thinking", "data": data}


def create_projection(
    event_id: str | None = None, message: Callable[[], Message] | None = None, **options: Any
) -> MessagesProjection:
    """Create the projection of one run; see `ProjectionPackage`."""
    return MessagesProjection(event_id, **options)


# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, Callable[[MessagesProjection, Any], list[MessagesFrame]]] = {
    ev.TextStarted: MessagesProjection._text_started,
    ev.CitationAdded: MessagesProjection._add_citation,
    ev.RunStarted: MessagesProjection._run_started,
    ev.TurnStarted: MessagesProjection._turn_started,
    ev.OutputStarted: MessagesProjection._output_started,
    ev.OutputFinished: MessagesProjection._output_finished,
    ev.TurnFinished: MessagesProjection._turn_finished,
    ev.TurnFailed: MessagesProjection._turn_failed,
    ev.StepStarted: MessagesProjection._step_started,
    ev.StepDiscarded: MessagesProjection._step_discarded,
    ev.RunFinished: MessagesProjection._run_ended,
    ev.RunFailed: MessagesProjection._run_ended,
    ev.RunClosed: MessagesProjection._end,
}
