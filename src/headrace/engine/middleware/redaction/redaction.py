"""Redaction: secrets leave a run before anybody has seen them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.encoders import Request
from headrace.engine.middleware.middleware import Middleware, RunView
from headrace.engine.middleware.redaction.messages import MessageMask
from headrace.engine.middleware.redaction.values import (
    changed,
    hide_arguments,
    hide_citation,
    hide_content,
    hide_value,
    hide_words,
)
from headrace.events import Event
from headrace.outcome import FinishReason
from headrace.secrets import API_KEYS, MARK, Mask, MaskedText, SecretPattern

Rewritten: TypeAlias = Event | list[Event] | None


class Redaction(Middleware):
    """Replaces secrets by a mark in all that a run says: text, reasoning, calls, results,
    progress, errors. The log, the stream, the history and the next request have the mark.

    `secrets` are values; `patterns` are shapes, by default those of API keys. Text is held
    back only while it could still become a secret, and not beyond its part. A call whose
    arguments have changed runs with the changed ones. Sealed and opaque data of the provider
    is searched for values alone. What you ask is sent as you wrote it, unless
    `redacts_requests`. Put it behind other middleware that rewrites events.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        patterns: Sequence[SecretPattern] = API_KEYS,
        *,
        mark: str = MARK,
        redacts_requests: bool = False,
    ) -> None:
        values = tuple(secrets)
        self._mask = Mask(values, patterns, mark)
        self._values = Mask(values, (), mark)
        self._redacts_requests = redacts_requests
        self._key = f"redaction {id(self)}"

    def rewrite_event(self, run: RunView, event: Event) -> Rewritten:
        """The event without secrets; later, in part, or with what was held back."""
        telling = run.state.get(self._key)
        if telling is None:
            telling = run.state[self._key] = _Telling(self._mask, self._values)
        return telling.feed(event)

    def on_request(self, run: RunView, request: Request) -> Request | None:
        """The request without secrets, where that is wanted."""
        if not self._redacts_requests:
            return None
        mask = MessageMask(self._mask, self._values)
        return changed(
            request,
            messages=tuple(map(mask.hide, request.messages)),
            instructions=hide_words(self._mask, request.instructions),
        )


class _Part:
    """A part that is being told: its text, and the citations that wait for it."""

    __slots__ = ("citations", "delta", "input", "text")

    def __init__(self, text: MaskedText, delta: Any, input: str = "") -> None:
        self.text = text
        self.delta = delta
        self.input = input
        self.citations: list[ev.CitationAdded] = []


class _Telling:
    """The events of one run."""

    def __init__(self, mask: Mask, values: Mask) -> None:
        self._mask = mask
        self._values = values
        self._parts: dict[int, _Part] = {}
        self._handlers: dict[type, Callable[[Any], Rewritten]] = {
            **dict.fromkeys(ev.DELTA_TYPES, self._delta),
            ev.TextStarted: self._text_started,
            ev.ReasoningStarted: self._reasoning_started,
            ev.ToolCallStarted: self._call_started,
            ev.TextFinished: self._ended,
            ev.ReasoningFinished: self._reasoning_finished,
            ev.ToolCallFinished: self._call_finished,
            ev.ToolCallMalformed: self._call_malformed,
            ev.CitationAdded: self._citation,
            ev.PartSealed: self._sealed,
            ev.ReasoningRedacted: self._redacted,
            ev.OpaqueItem: self._opaque,
            ev.MediaProduced: self._media,
            ev.ToolActivity: self._activity,
            ev.ToolOutput: self._output,
            ev.ToolStarted: self._tool_started,
            ev.ToolProgress: self._progress,
            ev.ToolResult: self._result,
            ev.OutputFinished: self._finished,
            ev.TurnFinished: self._turn_finished,
            ev.RunFinished: self._run_finished,
            ev.TurnFailed: self._turn_failed,
            ev.RunFailed: self._run_failed,
            ev.StepDiscarded: self._discarded,
            ev.StepFinished: self._step_finished,
        }

    def feed(self, event: Event) -> Rewritten:
        handler = self._handlers.get(type(event))
        return event if handler is None else handler(event)

    # -- parts that are told in pieces

    def _text_started(self, event: ev.TextStarted) -> Rewritten:
        self._parts[event.part] = _Part(self._mask.text(), ev.TextDelta)
        return event

    def _reasoning_started(self, event: ev.ReasoningStarted) -> Rewritten:
        self._parts[event.part] = _Part(self._mask.text(), ev.ReasoningDelta)
        return changed(event, provider_data=hide_value(self._values, event.provider_data))

    def _call_started(self, event: ev.ToolCallStarted) -> Rewritten:
        is_json = event.input == "json"
        text = self._mask.json_text() if is_json else self._mask.text()
        self._parts[event.part] = _Part(text, ev.ToolCallArgsDelta, event.input)
        data = hide_value(self._values, event.provider_data)
        return changed(event, name=self._values.hide(event.name), provider_data=data)

    def _delta(self, event: ev.DeltaEvent) -> Rewritten:
        part = self._parts.get(event.part)
        if part is None:
            return None
        text = part.text.feed(event.text)
        if part.citations:
            return [*_told(part, event.part, text), *self._due(part)]
        if text == event.text:
            return event
        return _told(part, event.part, text)

    def _ended(self, event: Any) -> list[Event]:
        part = self._parts.pop(event.part, None)
        if part is None:
            return [event]
        rest = part.text.close()
        told = [*_told(part, event.part, rest), *self._due(part)]
        # What points beyond the text is told all the same.
        return [*told, *part.citations, event]

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> Rewritten:
        if event.signature is not None and self._values.has_secret(event.signature):
            event = msgspec.structs.replace(event, signature=None)
        return self._ended(event)

    def _call_finished(self, event: ev.ToolCallFinished) -> Rewritten:
        event = changed(event, name=self._values.hide(event.name))
        part = self._parts.get(event.part)
        *told, _ = self._ended(event)
        if part is None or not part.text.is_changed:
            return [*told, event]
        raw, args, error = hide_arguments(self._mask, event.raw, part.input)
        if error is None:
            return [*told, msgspec.structs.replace(event, raw=raw, args=args)]
        malformed = ev.ToolCallMalformed(
            part=event.part, call_id=event.call_id, name=event.name, raw=raw, error=error
        )
        return [*told, malformed]

    def _call_malformed(self, event: ev.ToolCallMalformed) -> Rewritten:
        event = changed(event, name=self._values.hide(event.name))
        part = self._parts.get(event.part)
        *told, _ = self._ended(event)
        is_json = part is None or part.input == "json"
        hide = self._mask.hide_json if is_json else self._mask.hide
        error = self._mask.hide(event.error)
        return [*told, changed(event, raw=hide(event.raw), error=error)]

    def _citation(self, event: ev.CitationAdded) -> Rewritten:
        made = hide_citation(self._mask, event)
        part = self._parts.get(-1 if made.part is None else made.part)
        if part is None:
            return made
        part.citations.append(made)
        return self._due(part)

    def _due(self, part: _Part) -> list[Event]:
        """The citations whose text has been told, with the places that it has now."""
        text, waiting, due = part.text, part.citations, list[Event]()
        part.citations = []
        for one in waiting:
            if (one.end or one.start or 0) > text.decided:
                part.citations.append(one)
            else:
                start, end = _moved(text, one.start), _moved(text, one.end)
                due.append(changed(one, start=start, end=end))
        return due

    # -- what comes whole

    def _sealed(self, event: ev.PartSealed) -> Rewritten:
        return None if self._values.has_secret(event.value) else event

    def _redacted(self, event: ev.ReasoningRedacted) -> Rewritten:
        values = self._values
        provider_data = hide_value(values, event.provider_data)
        return changed(event, data=values.hide(event.data), provider_data=provider_data)

    def _opaque(self, event: ev.OpaqueItem) -> Rewritten:
        return changed(event, data=self._values.hide_json(event.data))

    def _media(self, event: ev.MediaProduced) -> Rewritten:
        return changed(event, url=hide_words(self._mask, event.url))

    def _activity(self, event: ev.ToolActivity) -> Rewritten:
        detail = hide_value(self._mask, event.detail)
        return changed(event, status=self._mask.hide(event.status), detail=detail)

    def _output(self, event: ev.ToolOutput) -> Rewritten:
        provider_data = hide_value(self._values, event.provider_data)
        content = hide_content(self._mask, event.content)
        return changed(event, content=content, provider_data=provider_data)

    def _tool_started(self, event: ev.ToolStarted) -> Rewritten:
        return changed(event, args=hide_value(self._mask, event.args))

    def _progress(self, event: ev.ToolProgress) -> Rewritten:
        status, log = hide_words(self._mask, event.status), hide_words(self._mask, event.log)
        return changed(event, status=status, log=log)

    def _result(self, event: ev.ToolResult) -> Rewritten:
        kind = hide_words(self._mask, event.kind)
        return changed(event, kind=kind, content=hide_content(self._mask, event.content))

    # -- ends

    def _reason(self, reason: FinishReason | None) -> FinishReason | None:
        return reason and changed(reason, detail=self._mask.hide(reason.detail))

    def _finished(self, event: ev.OutputFinished) -> Rewritten:
        raw_reason = hide_words(self._mask, event.raw_reason)
        return changed(event, reason=self._reason(event.reason), raw_reason=raw_reason)

    def _turn_finished(self, event: ev.TurnFinished) -> Rewritten:
        return changed(
            event,
            reason=self._reason(event.reason),
            raw_reason=hide_words(self._mask, event.raw_reason),
            provider_data=hide_value(self._values, event.provider_data),
        )

    def _run_finished(self, event: ev.RunFinished) -> Rewritten:
        return changed(event, reason=self._reason(event.reason))

    def _turn_failed(self, event: ev.TurnFailed) -> Rewritten:
        code = hide_words(self._mask, event.code)
        return changed(event, message=self._mask.hide(event.message), code=code)

    def _run_failed(self, event: ev.RunFailed) -> Rewritten:
        return changed(event, message=self._mask.hide(event.message))

    def _discarded(self, event: ev.StepDiscarded) -> Rewritten:
        return changed(event, reason=self._mask.hide(event.reason))

    def _step_finished(self, event: ev.StepFinished) -> Rewritten:
        return changed(event, nudge=hide_words(self._mask, event.nudge))


def _told(part: _Part, number: int, text: str) -> list[Event]:
    return [part.delta(number, text)] if text else []


def _moved(text: MaskedText, position: int | None) -> int | None:
    return None if position is None else text.map_position(position)
