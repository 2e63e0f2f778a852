"""Turns records into chunks of the Chat Completions protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from headrace import events as ev
from headrace.content import data_url
from headrace.errors import UsageError
from headrace.events import ReasoningDelta, Record, TextDelta, ToolCallArgsDelta
from headrace.messages import Message
from headrace.projections.ending import GOES_ON, Terminal, ending
from headrace.projections.openai_chat import frame as fr
from headrace.projections.openai_chat.chunk_writer import ChunkWriter
from headrace.projections.openai_chat.frame import ChatFrame, Delta, TextField
from headrace.projections.openai_chat.reasoning import ReasoningField, seal_call
from headrace.projections.openai_chat.shown_choice import (
    ShownCall,
    ShownChoice,
    ShownText,
    to_annotation,
)

_PARAGRAPH = "\n\n"
_GAP = "the text was sent with a gap, because frames of the provider could not be read"
_LOSS = "frames of the provider could not be read: part of the answer may be missing"
_DISCARDED = "a step of the answer failed and is tried again, which this stream cannot show: {}"
_BROKEN_CALL = "the arguments of a call were sent with a gap"


class ChatProjection:
    """Turns the records of a turn or a run into chunks.

    Feed every record; `close()` returns the last frames if no `RunClosed` did. Of a turn, all
    candidates are shown, and the calls that its caller has to answer. Of a run, one choice is
    shown, without the calls that the server answers itself, unless `client_tools` is set.
    """

    def __init__(
        self,
        response_id: str | None = None,
        *,
        model: str | None = None,
        include_usage: bool = False,
        reasoning_field: ReasoningField = "reasoning_content",
        thinking_blocks: bool = False,
        client_tools: bool | None = None,
    ) -> None:
        if reasoning_field not in get_args(ReasoningField):
            raise UsageError(
                f"no reasoning field {reasoning_field!r}: there are reasoning_content, reasoning"
                " and none"
            )
        self._write = ChunkWriter(response_id, model)
        self._includes_usage = include_usage
        self._field: TextField | None = None if reasoning_field == "none" else reasoning_field
        self._sends_blocks = thinking_blocks
        self._client_tools = client_tools
        self._is_run = False
        self._is_successive = False
        self._output: int | None = None
        self._origin: ev.TurnStarted | None = None
        self._choices: dict[int, ShownChoice] = {}
        # What is shown of the parts, by their numbers.
        self._texts: dict[int, ShownText] = {}
        self._thoughts: dict[int, ShownChoice] = {}
        self._calls: dict[int, ShownCall] = {}
        self._terminal: Terminal | None = None
        self._error: str | None = None
        self._warning: str | None = None
        self._logprobs: dict[str, Any] = {}
        self._service_tier: str | None = None
        self._is_step_shown = False
        self._is_over = False

    def feed(self, record: Record) -> list[ChatFrame]:
        """Return the frames of the next record."""
        if record.path or self._is_over:
            return []
        event = record.event
        kind = type(event)
        if kind is TextDelta:
            return self._text(event)  # type: ignore[arg-type]
        if kind is ReasoningDelta:
            return self._thought(event)  # type: ignore[arg-type]
        if self._write.created is None:
            self._write.created = record.at_ms // 1000
        if isinstance(event, GOES_ON):
            self._terminal = None
        handle = _HANDLERS.get(kind)
        return [] if handle is None else handle(self, event)

    def close(self) -> list[ChatFrame]:
        """End the stream: return the last frames, unless they were sent already."""
        return [] if self._is_over else self._end(None)

    # -- text and reasoning

    def _text_started(self, event: ev.TextStarted) -> list[ChatFrame]:
        choice = self._find_choice(event.output)
        if choice is not None:
            self._texts[event.part] = ShownText(choice, event.is_refusal)
        return []

    def _text(self, event: TextDelta) -> list[ChatFrame]:
        shown = self._texts.get(event.part)
        if shown is None:
            return []
        choice, text = shown.choice, event.text
        if shown.is_refusal:
            self._is_step_shown = True
            return self._write.add_text(choice, "refusal", text)
        if choice.is_text_broken:
            choice.is_text_broken = False
            text = _PARAGRAPH + text
        if shown.offset is None:
            shown.offset = choice.sent_chars + len(text) - len(event.text)
            self._is_step_shown = True
        choice.sent_chars += len(text)
        return self._write.add_text(choice, "content", text)

    def _reasoning_started(self, event: ev.ReasoningStarted) -> list[ChatFrame]:
        choice = self._find_choice(event.output)
        if choice is not None:
            self._thoughts[event.part] = choice
            if event.summary_index:
                choice.is_reasoning_broken = choice.has_reasoning
            if self._sends_blocks:
                choice.blocks.open(event)
        return []

    def _thought(self, event: ReasoningDelta) -> list[ChatFrame]:
        choice = self._thoughts.get(event.part)
        if choice is None:
            return []
        text = event.text
        if self._sends_blocks:
            choice.blocks.extend(event.part, text)
        if choice.is_reasoning_broken:
            choice.is_reasoning_broken = False
            text = _PARAGRAPH + text
        choice.has_reasoning = self._is_step_shown = True
        return [] if self._field is None else self._write.add_text(choice, self._field, text)

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> list[ChatFrame]:
        choice = self._thoughts.get(event.part)
        if choice is None or not self._sends_blocks:
            return []
        return self._write.add(choice, Delta(thinking_blocks=choice.blocks.close(event)))

    def _add_redacted(self, event: ev.ReasoningRedacted) -> list[ChatFrame]:
        choice = self._find_choice(event.output)
        if choice is None or not self._sends_blocks:
            return []
        return self._write.add(choice, Delta(thinking_blocks=choice.blocks.redact(event)))

    def _add_seal(self, event: ev.PartSealed) -> list[ChatFrame]:
        call = self._calls.get(event.part)
        if call is not None:
            if call.extra:
                return []
            seal = seal_call(event, call.start, self._origin)
            extra = {"google": {"thought_signature": seal}}
            entry = fr.CallDelta(call.index, extra_content=extra)
            return self._write.add(call.choice, Delta(tool_calls=(entry,)))
        choice = self._thoughts.get(event.part)
        if choice is None or not self._sends_blocks:
            return []
        blocks = choice.blocks.seal(event)
        return self._write.add(choice, Delta(thinking_blocks=blocks)) if blocks else []

    def _restore(self, event: ev.PartRestored) -> list[ChatFrame]:
        """Complete the arguments of a call; of a text only the gap can be told."""
        call = self._calls.get(event.part)
        if call is None:
            if event.part in self._texts or event.part in self._thoughts:
                self._warning = self._warning or _GAP
            if event.part in self._thoughts:
                self._thoughts[event.part].blocks.restore(event.part, event.text)
            return []
        rest = call.restore(event.text)
        if rest is None:
            self._error = _BROKEN_CALL
        return self._write.add(call.choice, Delta(tool_calls=(call.extend(rest),))) if rest else []

    # -- calls

    def _call_started(self, event: ev.ToolCallStarted) -> list[ChatFrame]:
        choice = self._find_choice(event.output)
        if choice is None or event.executor != "client" or not self._shows_calls:
            return []
        call = self._calls[event.part] = ShownCall(choice, choice.call_count, event)
        choice.call_count += 1
        self._is_step_shown = True
        if call.is_text:
            entry = fr.CallDelta(
                call.index, event.call_id, "custom", custom=fr.CustomStart(event.name)
            )
        else:
            entry = fr.CallDelta(
                call.index,
                event.call_id,
                "function",
                fr.FunctionStart(event.name),
                extra_content=call.extra,
            )
        return self._write.add(choice, Delta(tool_calls=(entry,)))

    def _call_args(self, event: ToolCallArgsDelta) -> list[ChatFrame]:
        call = self._calls.get(event.part)
        if call is None:
            return []
        return self._write.add(call.choice, Delta(tool_calls=(call.extend(event.text),)))

    @property
    def _shows_calls(self) -> bool:
        return not self._is_run if self._client_tools is None else self._client_tools

    # -- citations and media

    def _add_citation(self, event: ev.CitationAdded) -> list[ChatFrame]:
        text = None if event.part is None else self._texts.get(event.part)
        if event.part is not None and text is None:
            return []
        choice = self._get_choice(0) if text is None else text.choice
        offset = 0 if text is None else text.offset or 0
        annotation = to_annotation(event, offset)
        if annotation is not None:
            choice.annotations.append(annotation)
        return []

    def _media(self, event: ev.MediaProduced) -> list[ChatFrame]:
        choice = self._find_choice(event.output)
        if choice is None or not event.media_type.startswith("image"):
            return []
        url = data_url(event)
        entry = {"index": choice.image_count, "type": "image_url", "image_url": {"url": url}}
        choice.image_count += 1
        return self._write.add(choice, Delta(images=(entry,)))

    # -- turns, runs and the end

    def _run_started(self, event: ev.RunStarted) -> list[ChatFrame]:
        self._is_run = True
        self._write.id = self._write.id or f"chatcmpl-{event.run_id}"
        self._write.model = self._write.model or event.model
        return []

    def _turn_started(self, event: ev.TurnStarted) -> list[ChatFrame]:
        self._origin = event
        self._write.id = self._write.id or event.response_id
        self._write.model = self._write.model or event.model
        self._is_successive = event.outputs == "successive"
        self._output = None
        for choice in self._choices.values():
            choice.blocks.origin = event
            choice.begin_step()
        return []

    def _output_started(self, event: ev.OutputStarted) -> list[ChatFrame]:
        if self._output is None:
            self._output = event.output
        return []

    def _find_choice(self, output: int) -> ShownChoice | None:
        """Return the choice that shows an output: each candidate of a turn has its own. Of a run
        only the first is shown, because the run goes on with it."""
        if self._is_successive:
            return self._get_choice(0)
        if self._is_run:
            return self._get_choice(0) if output == self._output else None
        return self._get_choice(output)

    def _get_choice(self, index: int) -> ShownChoice:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = ShownChoice(index)
            choice.blocks.origin = self._origin
        return choice

    def _output_finished(self, event: ev.OutputFinished) -> list[ChatFrame]:
        choice = self._find_choice(event.output)
        if choice is not None and not self._is_successive:
            choice.reason = event.reason
        return []

    def _turn_finished(self, event: ev.TurnFinished) -> list[ChatFrame]:
        self._terminal = event
        self._logprobs = event.provider_data.get("logprobs") or {}
        self._service_tier = event.service_tier
        if not event.is_complete:
            self._warning = _LOSS
        return []

    def _step_started(self, event: ev.StepStarted) -> list[ChatFrame]:
        self._is_step_shown = False
        return []

    def _step_discarded(self, event: ev.StepDiscarded) -> list[ChatFrame]:
        """End the stream if something of the step was sent: it cannot be taken back."""
        if not self._is_step_shown:
            return []
        self._is_over = True
        error = fr.to_error("interrupted", _DISCARDED.format(event.reason))
        return [fr.ErrorFrame(error), fr.END_OF_FRAMES]

    def _turn_failed(self, event: ev.TurnFailed) -> list[ChatFrame]:
        self._terminal = event
        return []

    def _run_ended(self, event: ev.RunFinished | ev.RunFailed) -> list[ChatFrame]:
        # What a turn said about a choice does not say how the run ended.
        for choice in self._choices.values():
            choice.reason = None
        self._terminal = event
        return []

    def _end(self, closed: ev.RunClosed | None) -> list[ChatFrame]:
        self._is_over = True
        terminal = self._terminal
        end = ending(terminal, closed)
        usage: list[ChatFrame] = []
        if self._includes_usage and terminal is not None:
            usage = self._write.report(terminal.usage)
        if end.kind == "finished" and self._error is None:
            assert isinstance(terminal, ev.TurnFinished | ev.RunFinished)
            self._get_choice(min(self._choices, default=0))
            finished = [
                frame
                for choice in self._choices.values()
                for frame in self._write.finish(
                    choice,
                    choice.reason or terminal.reason,
                    self._logprobs.get(str(choice.index)),
                    service_tier=self._service_tier,
                    warning=self._warning,
                )
            ]
            return [*finished, *usage, fr.END_OF_FRAMES]
        if end.kind == "finished":
            error = fr.to_error("protocol", self._error or "")
        elif end.kind == "cancelled":
            error = fr.to_error("cancelled", "the answer was cancelled")
        else:
            code = terminal.code if isinstance(terminal, ev.TurnFailed) else None
            error = fr.to_error(end.category, end.message, code)
        return [*usage, fr.ErrorFrame(error), fr.END_OF_FRAMES]


def create_projection(
    event_id: str | None = None, message: Callable[[], Message] | None = None, **options: Any
) -> ChatProjection:
    """Create the projection of one run; see `ProjectionPackage`."""
    return ChatProjection(event_id, **options)


# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, Callable[[ChatProjection, Any], list[ChatFrame]]] = {
    ToolCallArgsDelta: ChatProjection._call_args,
    ev.TextStarted: ChatProjection._text_started,
    ev.ReasoningStarted: ChatProjection._reasoning_started,
    ev.ReasoningFinished: ChatProjection._reasoning_finished,
    ev.ReasoningRedacted: ChatProjection._add_redacted,
    ev.PartSealed: ChatProjection._add_seal,
    ev.PartRestored: ChatProjection._restore,
    ev.ToolCallStarted: ChatProjection._call_started,
    ev.CitationAdded: ChatProjection._add_citation,
    ev.MediaProduced: ChatProjection._media,
    ev.RunStarted: ChatProjection._run_started,
    ev.TurnStarted: ChatProjection._turn_started,
    ev.OutputStarted: ChatProjection._output_started,
    ev.OutputFinished: ChatProjection._output_finished,
    ev.TurnFinished: ChatProjection._turn_finished,
    ev.TurnFailed: ChatProjection._turn_failed,
    ev.StepStarted: ChatProjection._step_started,
    ev.StepDiscarded: ChatProjection._step_discarded,
    ev.RunFinished: ChatProjection._run_ended,
    ev.RunFailed: ChatProjection._run_ended,
    ev.RunClosed: ChatProjection._end,
}
