"""`Redaction`: middleware that replaces secrets in all events of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.encoders import Request
from headrace.engine.middleware.middleware import Middleware, RunView
from headrace.engine.middleware.redaction.secret_hider import SecretHider, replace_changed
from headrace.events import Event
from headrace.events.grammar import DELTA_TYPE_OF
from headrace.secrets import API_KEYS, MARK, Mask, MaskedText, SecretPattern

Rewritten: TypeAlias = Event | list[Event] | None


class Redaction(Middleware):
    """Replaces secrets by a mark in everything that a run produces: text, reasoning, calls,
    results, progress and errors. The log, the stream, the history and later requests get the mark.

    `secrets` are values; `patterns` are shapes, by default those of API keys. Text is held back
    only while it could still become a secret, and at most until the end of its part. A call
    whose arguments are changed runs with the changed ones. Sealed and opaque data of the provider
    is searched for values only. Your input is sent unchanged unless `redacts_requests` is set.
    Put it after other middleware that rewrites events.
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
        self._hider = SecretHider(Mask(values, patterns, mark), Mask(values, (), mark))
        self._redacts_requests = redacts_requests
        self._key = f"redaction {id(self)}"

    def rewrite_event(self, run: RunView, event: Event) -> Rewritten:
        """Return the event without secrets, or with text that was held back, or nothing yet."""
        redactor = run.state.get(self._key)
        if redactor is None:
            redactor = run.state[self._key] = _RunRedactor(self._hider)
        return redactor.feed(event)

    def on_request(self, run: RunView, request: Request) -> Request | None:
        """Return the request without secrets, if `redacts_requests` is set."""
        if not self._redacts_requests:
            return None
        instructions = request.instructions
        return replace_changed(
            request,
            messages=tuple(map(self._hider.hide, request.messages)),
            instructions=None if instructions is None else self._hider.mask.hide(instructions),
        )


@dataclass(slots=True, eq=False)
class _OpenPart:
    """A part that is being streamed: its text, and the citations that wait for it."""

    text: MaskedText
    delta: Any
    input: str = ""
    citations: list[ev.CitationAdded] = field(default_factory=list[ev.CitationAdded])

    def to_deltas(self, number: int, text: str) -> list[Event]:
        return [self.delta(number, text)] if text else []

    def take_citations(self) -> list[Event]:
        """Return the citations whose text has been written, with their new positions."""
        text, waiting, ready = self.text, self.citations, list[Event]()
        self.citations = []
        for citation in waiting:
            if (citation.end or citation.start or 0) > text.decided:
                self.citations.append(citation)
            else:
                start = None if citation.start is None else text.map_position(citation.start)
                end = None if citation.end is None else text.map_position(citation.end)
                ready.append(replace_changed(citation, start=start, end=end))
        return ready


class _RunRedactor:
    """Redacts the events of one run. Events without a handler are redacted field by field."""

    def __init__(self, hider: SecretHider) -> None:
        self._hider = hider
        self._mask = hider.mask
        self._parts: dict[int, _OpenPart] = {}
        self._handlers: dict[type, Callable[[Any], Rewritten]] = {
            **dict.fromkeys(ev.DELTA_TYPES, self._redact_delta),
            **dict.fromkeys(DELTA_TYPE_OF, self._start_part),
            ev.PartRestored: self._redact_restored,
            ev.TextFinished: self._end_part,
            ev.ReasoningFinished: self._end_reasoning,
            ev.ToolCallFinished: self._end_call,
            ev.ToolCallMalformed: self._end_call,
            ev.CitationAdded: self._redact_citation,
            ev.PartSealed: self._redact_seal,
        }

    def feed(self, event: Event) -> Rewritten:
        handler = self._handlers.get(type(event))
        return self._hider.hide(event) if handler is None else handler(event)

    def _start_part(self, event: Any) -> Rewritten:
        input = getattr(event, "input", "")
        text = self._create_text(input)
        self._parts[event.part] = _OpenPart(text, DELTA_TYPE_OF[type(event)], input)
        redacted: Event = self._hider.hide(event)
        return redacted

    def _redact_delta(self, event: ev.DeltaEvent) -> Rewritten:
        part = self._parts.get(event.part)
        if part is None:
            return None
        text = part.text.feed(event.text)
        if part.citations:
            return [*part.to_deltas(event.part, text), *part.take_citations()]
        if text == event.text:
            return event
        return part.to_deltas(event.part, text)

    def _create_text(self, input: str) -> MaskedText:
        return self._mask.json_text() if input == "json" else self._mask.text()

    def _redact_restored(self, event: ev.PartRestored) -> Rewritten:
        """Redact the complete text of a part, from its beginning. What is held back follows as a
        delta."""
        part = self._parts.get(event.part)
        if part is None:
            return None
        part.text = self._create_text(part.input)
        return ev.PartRestored(event.part, part.text.feed(event.text))

    def _end_part(self, event: Any) -> list[Event]:
        part = self._parts.pop(event.part, None)
        if part is None:
            return [event]
        rest = part.to_deltas(event.part, part.text.close())
        # Citations that point beyond the end of the text are written as well.
        return [*rest, *part.take_citations(), *part.citations, event]

    def _end_reasoning(self, event: ev.ReasoningFinished) -> Rewritten:
        if event.signature is not None and self._hider.values.has_secret(event.signature):
            event = msgspec.structs.replace(event, signature=None)
        return self._end_part(event)

    def _end_call(self, event: ev.ToolCallFinished | ev.ToolCallMalformed) -> Rewritten:
        event = self._hider.hide(event)
        part = self._parts.get(event.part)
        *rest, _ = self._end_part(event)
        if isinstance(event, ev.ToolCallMalformed):
            is_json = part is None or part.input == "json"
            hide = self._mask.hide_json if is_json else self._mask.hide
            return [*rest, replace_changed(event, raw=hide(event.raw))]
        if part is None or not part.text.is_changed:
            return [*rest, event]
        raw, args, error = self._hider.hide_arguments(event.raw, part.input)
        if error is None:
            return [*rest, msgspec.structs.replace(event, raw=raw, args=args)]
        malformed = ev.ToolCallMalformed(
            part=event.part, call_id=event.call_id, name=event.name, raw=raw, error=error
        )
        return [*rest, malformed]

    def _redact_citation(self, event: ev.CitationAdded) -> Rewritten:
        event = self._hider.hide(event)
        part = self._parts.get(-1 if event.part is None else event.part)
        if part is None:
            return event
        part.citations.append(event)
        return part.take_citations()

    def _redact_seal(self, event: ev.PartSealed) -> Rewritten:
        return None if self._hider.values.has_secret(event.value) else event
