"""The events of one agent in AG-UI: its steps, texts, reasoning and calls.

The agent of the run and each of its sub-agents have an object of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.content import data_url
from headrace.events import JSONObject, Record
from headrace.projections.ag_ui import frame as fr
from headrace.projections.ag_ui.frame import AGUIFrame
from headrace.projections.ag_ui.tool_calls import AGUIToolCalls
from headrace.projections.call_ids import CallIds, CallPath
from headrace.projections.input_frame import prompt_text
from headrace.status.answer_text import AnswerText
from headrace.status.reader import StatusReader
from headrace.status.reasoning_reader import ReasoningReader


class _Text(msgspec.Struct, eq=False):
    """A text. It is announced with its first characters."""

    id: str
    reader: AnswerText
    is_announced: bool = False


class _Thought(msgspec.Struct, eq=False):
    """A block of reasoning that was announced."""

    id: str
    reader: ReasoningReader


class AgentEvents:
    """Turns the records of one agent into events. `prefix` begins all ids, and `subagent_run_id` is
    in all events of a sub-agent."""

    def __init__(
        self, prefix: str, ids: CallIds, path: CallPath = (), subagent_run_id: str | None = None
    ) -> None:
        self._prefix = prefix
        self._tag = subagent_run_id
        self._status = StatusReader()
        self._turn = -1
        self._step = 0
        self._open_step: str | None = None
        self._texts: dict[int, _Text] = {}
        self._thoughts: dict[int, _Thought] = {}
        # The message of each part, to which a seal belongs.
        self._messages: dict[int, str] = {}
        self._text_ids: list[str] = []
        self.calls = AGUIToolCalls(ids, path, subagent_run_id)
        self._added = 0

    def feed(self, record: Record) -> list[AGUIFrame]:
        """Return the events of the next record of this agent."""
        event = record.event
        if type(event) is ev.TextDelta:
            return self._text(event)
        if type(event) is ev.ReasoningDelta:
            return self._thought(event, record.at_ms)
        self._step = record.step
        # Records of a sub-agent have a path, which the reader of phrases ignores.
        own = msgspec.structs.replace(record, path=()) if record.path else record
        statuses = self._status_frames(self._status.feed(own))
        handle = _HANDLERS.get(type(event))
        frames = self.calls.feed(event) if handle is None else handle(self, event)
        return [*frames, *statuses]

    def _status_frames(self, statuses: list[ev.StatusChanged]) -> list[AGUIFrame]:
        return [
            self._custom("status", {"text": status.text, "source": status.source})
            for status in statuses
        ]

    def _custom(self, name: str, value: JSONObject) -> AGUIFrame:
        return fr.Custom(name=name, value=value, subagent_run_id=self._tag)

    # -- steps and turns

    @property
    def _message_id(self) -> str:
        """The message of the turn, to which its calls belong."""
        return f"{self._prefix}-{max(self._turn, 0)}"

    def _step_started(self, event: ev.StepStarted) -> list[AGUIFrame]:
        return self._open(f"step {event.step + 1}")

    def _open(self, name: str) -> list[AGUIFrame]:
        closing = self.close_step()
        self._open_step = name
        return [*closing, fr.StepStarted(step_name=name, subagent_run_id=self._tag)]

    def _step_finished(self, event: object) -> list[AGUIFrame]:
        return self.close_step()

    def close(self) -> list[AGUIFrame]:
        """End everything that is open at the end of the run."""
        return [*self._close_parts(None), *self.calls.close(is_over=True), *self.close_step()]

    def close_step(self) -> list[AGUIFrame]:
        """End the step and everything that is open in it."""
        frames = self._close_parts(None)
        if self._open_step is not None:
            name, self._open_step = self._open_step, None
            frames.append(fr.StepFinished(step_name=name, subagent_run_id=self._tag))
        return frames

    def _turn_started(self, event: ev.TurnStarted) -> list[AGUIFrame]:
        self._turn += 1
        self._text_ids = []
        return [] if self._open_step is not None else self._open("step 1")

    def _close_parts(self, event: object) -> list[AGUIFrame]:
        # Parts are open here only if the records broke off.
        frames: list[AGUIFrame] = []
        for part in list(self._thoughts):
            frames += self._end_thought(part, "")
        for text in self._texts.values():
            frames += self._end_text(text)
        self._texts = {}
        return [*frames, *self.calls.close()]

    def _step_discarded(self, event: ev.StepDiscarded) -> list[AGUIFrame]:
        """Tell that the messages and calls of a step do not count. AG-UI cannot take them back."""
        frames = self._close_parts(None)
        ids, results = self.calls.discard(event.step)
        value: JSONObject = {
            "reason": event.reason,
            "messageIds": list(dict.fromkeys([*self._text_ids, *self._messages.values()])),
            "toolCallIds": ids,
        }
        self._messages = {}
        return [*frames, *results, self._custom("step-discarded", value)]

    def _step_ended(self, event: object) -> list[AGUIFrame]:
        self._messages = {}
        return self.close_step()

    # -- text

    def _text_started(self, event: ev.TextStarted) -> list[AGUIFrame]:
        if self._status.is_shown(event.output):
            # The first text of a turn is in the message that has its calls.
            id = f"{self._message_id}-{event.part}" if self._text_ids else self._message_id
            self._text_ids.append(id)
            self._texts[event.part] = _Text(id, AnswerText())
            self._messages[event.part] = id
        return []

    def _text(self, event: ev.TextDelta) -> list[AGUIFrame]:
        text = self._texts.get(event.part)
        if text is None:
            return []
        self._status.end_phase()
        return self._text_frames(text, text.reader.feed(event.text))

    def _text_frames(self, text: _Text, delta: str) -> list[AGUIFrame]:
        if not delta:
            return []
        piece = fr.TextMessageContent(message_id=text.id, delta=delta, subagent_run_id=self._tag)
        if text.is_announced:
            return [piece]
        text.is_announced = True
        start = fr.TextMessageStart(message_id=text.id, role="assistant", subagent_run_id=self._tag)
        return [start, piece]

    def _text_finished(self, event: ev.TextFinished) -> list[AGUIFrame]:
        text = self._texts.pop(event.part, None)
        return [] if text is None else self._end_text(text)

    def _end_text(self, text: _Text) -> list[AGUIFrame]:
        frames = self._text_frames(text, text.reader.close())
        if text.is_announced:
            frames.append(fr.TextMessageEnd(message_id=text.id, subagent_run_id=self._tag))
        return frames

    def _user_message(self, event: ev.UserMessageAdded) -> list[AGUIFrame]:
        self._added += 1
        id, tag = f"{self._prefix}-user-{self._added}", self._tag
        text = prompt_text(event.content)
        return [
            fr.TextMessageStart(message_id=id, role="user", subagent_run_id=tag),
            fr.TextMessageContent(message_id=id, delta=text, subagent_run_id=tag),
            fr.TextMessageEnd(message_id=id, subagent_run_id=tag),
        ]

    # -- reasoning

    def _reasoning_started(self, event: ev.ReasoningStarted) -> list[AGUIFrame]:
        reader = self._status.thought(event.part)
        if reader is None:
            return []
        thought = _Thought(f"{self._prefix}-reasoning-{event.part}", reader)
        self._thoughts[event.part] = thought
        self._messages[event.part] = thought.id
        return self._start_thought(thought.id)

    def _start_thought(self, id: str) -> list[AGUIFrame]:
        tag = self._tag
        return [
            fr.ReasoningStart(message_id=id, subagent_run_id=tag),
            fr.ReasoningMessageStart(message_id=id, role="reasoning", subagent_run_id=tag),
        ]

    def _thought(self, event: ev.ReasoningDelta, at_ms: int) -> list[AGUIFrame]:
        thought = self._thoughts.get(event.part)
        if thought is None:
            return []
        text, status = thought.reader.feed(event.text)
        frames = self._thought_frames(thought.id, text)
        if status is None and self._status.waiting is None:
            return frames
        said = self._status.take_due(at_ms)
        if status is not None:
            said += self._status.show(status, at_ms)
        return [*frames, *self._status_frames(said)]

    def _thought_frames(self, id: str, delta: str) -> list[AGUIFrame]:
        if not delta:
            return []
        piece = fr.ReasoningMessageContent(message_id=id, delta=delta, subagent_run_id=self._tag)
        return [piece]

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> list[AGUIFrame]:
        if event.part not in self._thoughts:
            return []
        seals = self._create_encrypted(self._messages[event.part], event.signature)
        rest = self._status.rest(of_open=False)
        return [*self._end_thought(event.part, rest, seals)]

    def _end_thought(
        self, part: int, rest: str, seals: list[AGUIFrame] | None = None
    ) -> list[AGUIFrame]:
        thought, tag = self._thoughts.pop(part), self._tag
        return [
            *self._thought_frames(thought.id, rest),
            fr.ReasoningMessageEnd(message_id=thought.id, subagent_run_id=tag),
            *(seals or ()),
            fr.ReasoningEnd(message_id=thought.id, subagent_run_id=tag),
        ]

    def _create_encrypted(self, entity_id: str, value: str | None) -> list[AGUIFrame]:
        if value is None:
            return []
        seal = fr.ReasoningEncryptedValue(
            subtype="message",
            entity_id=entity_id,
            encrypted_value=value,
            subagent_run_id=self._tag,
        )
        return [seal]

    def _reasoning_redacted(self, event: ev.ReasoningRedacted) -> list[AGUIFrame]:
        if not self._status.is_shown(event.output):
            return []
        id, tag = f"{self._prefix}-reasoning-{event.part}", self._tag
        return [
            *self._start_thought(id),
            fr.ReasoningMessageEnd(message_id=id, subagent_run_id=tag),
            *self._create_encrypted(id, event.data),
            fr.ReasoningEnd(message_id=id, subagent_run_id=tag),
        ]

    def _part_sealed(self, event: ev.PartSealed) -> list[AGUIFrame]:
        seal = self.calls.seal(event)
        if seal is not None:
            return [seal]
        message_id = self._messages.get(event.part)
        return [] if message_id is None else self._create_encrypted(message_id, event.value)

    # -- calls

    def _call_started(self, event: ev.ToolCallStarted) -> list[AGUIFrame]:
        if not self._status.is_shown(event.output):
            return []
        return self.calls.start(event, self._step, self._message_id)

    def _tool_output(self, event: ev.ToolOutput) -> list[AGUIFrame]:
        if not self._status.is_shown(event.output):
            return []
        return self.calls.output(event, self._step, self._message_id)

    # -- other parts

    def _media(self, event: ev.MediaProduced) -> list[AGUIFrame]:
        if not self._status.is_shown(event.output):
            return []
        return [self._custom("file", {"url": data_url(event), "mediaType": event.media_type})]

    def _citation(self, event: ev.CitationAdded) -> list[AGUIFrame]:
        fields = {"ref": event.ref, "title": event.title, "quote": event.quote}
        value: JSONObject = {name: text for name, text in fields.items() if text is not None}
        if event.part is not None and event.part in self._messages:
            value["messageId"] = self._messages[event.part]
        return [self._custom("source", value)]


_Handler: TypeAlias = Callable[[AgentEvents, Any], list[AGUIFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.StepStarted: AgentEvents._step_started,
    ev.StepDiscarded: AgentEvents._step_discarded,
    ev.StepFinished: AgentEvents._step_ended,
    ev.TurnStarted: AgentEvents._turn_started,
    ev.TurnFinished: AgentEvents._close_parts,
    ev.TurnFailed: AgentEvents._close_parts,
    ev.TextStarted: AgentEvents._text_started,
    ev.TextFinished: AgentEvents._text_finished,
    ev.UserMessageAdded: AgentEvents._user_message,
    ev.ReasoningStarted: AgentEvents._reasoning_started,
    ev.ReasoningFinished: AgentEvents._reasoning_finished,
    ev.ReasoningRedacted: AgentEvents._reasoning_redacted,
    ev.PartSealed: AgentEvents._part_sealed,
    ev.ToolCallStarted: AgentEvents._call_started,
    ev.ToolOutput: AgentEvents._tool_output,
    ev.MediaProduced: AgentEvents._media,
    ev.CitationAdded: AgentEvents._citation,
}
