"""Whole messages without secrets, as history: what was told before the mask was there. What has
none stays the same object."""

from __future__ import annotations

from typing import TypeVar

from headrace.engine.middleware.redaction.values import (
    changed,
    hide_arguments,
    hide_citation,
    hide_content,
    hide_value,
    hide_words,
)
from headrace.messages import (
    Activity,
    CallPart,
    CallResult,
    Citation,
    MediaPart,
    Message,
    OpaquePart,
    OutputPart,
    Part,
    ReasoningPart,
    RedactedPart,
    TextPart,
    Turn,
)
from headrace.secrets.mask import Mask

P = TypeVar("P", bound=Part)


class MessageMask:
    """Hides in words what `mask` finds, and in what only the provider reads what `values` finds:
    a shape that looks like a key there is none, and would break what it stands in."""

    def __init__(self, mask: Mask, values: Mask) -> None:
        self._mask = mask
        self._values = values

    def hide(self, message: Message) -> Message:
        """A message of anybody's. Seals that a secret stands in are left out, and so are those
        of reasoning that has changed."""
        return changed(
            message,
            content=hide_content(self._mask, message.content),
            turns=tuple(map(self._turn, message.turns)),
        )

    def _turn(self, turn: Turn) -> Turn:
        return changed(
            turn,
            parts=tuple(self._part(self._unsealed(part)) for part in turn.parts),
            results=tuple(map(self._result, turn.results)),
            citations=self._citations(turn.citations),
            nudge=hide_words(self._mask, turn.nudge),
            provider_data=hide_value(self._values, turn.provider_data),
        )

    def _unsealed(self, part: P) -> P:
        sound = tuple(seal for seal in part.seals if not self._values.has_secret(seal.value))
        return changed(part, seals=sound)

    def _part(self, part: Part) -> Part:
        mask, values = self._mask, self._values
        match part:
            case TextPart():
                citations = self._citations(part.citations)
                return changed(part, text=mask.hide(part.text), citations=citations)
            case ReasoningPart():
                return self._reasoning(part)
            case RedactedPart():
                data = hide_value(values, part.provider_data)
                return changed(part, data=values.hide(part.data), provider_data=data)
            case CallPart():
                return self._call(part)
            case OutputPart():
                content = hide_content(mask, part.content)
                data = hide_value(values, part.provider_data)
                return changed(part, content=content, provider_data=data)
            case MediaPart():
                return changed(part, url=hide_words(mask, part.url))
            case OpaquePart():
                return changed(part, data=values.hide_json(part.data))

    def _reasoning(self, part: ReasoningPart) -> Part:
        text = self._mask.hide(part.text)
        return changed(
            part,
            text=text,
            seals=part.seals if text == part.text else (),
            citations=self._citations(part.citations),
            provider_data=hide_value(self._values, part.provider_data),
        )

    def _call(self, call: CallPart) -> CallPart:
        raw, args, error = hide_arguments(self._mask, call.raw, call.input)
        said = hide_words(self._mask, call.error)
        made = changed(
            call,
            name=self._values.hide(call.name),
            error=said,
            activities=tuple(map(self._activity, call.activities)),
            provider_data=hide_value(self._values, call.provider_data),
        )
        if raw == call.raw:
            return made
        return changed(made, raw=raw, args=args, error=said or error)

    def _activity(self, activity: Activity) -> Activity:
        detail = hide_value(self._mask, activity.detail)
        return changed(activity, status=self._mask.hide(activity.status), detail=detail)

    def _result(self, result: CallResult) -> CallResult:
        return changed(result, content=hide_content(self._mask, result.content))

    def _citations(self, citations: tuple[Citation, ...]) -> tuple[Citation, ...]:
        return tuple(hide_citation(self._mask, cited) for cited in citations)
