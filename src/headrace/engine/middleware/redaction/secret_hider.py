"""`SecretHider`: replaces secrets in events, messages and content, by a table of their fields."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from headrace import content, messages
from headrace import events as ev
from headrace.encoders.text_content import decode_text_file
from headrace.outcome import FinishReason
from headrace.secrets.mask import Mask
from headrace.wire.call_arguments import MalformedArguments, parse_arguments
from headrace.wire.json.value import as_object
from headrace.wire.limits import DEFAULT_WIRE_LIMITS

S = TypeVar("S", bound=msgspec.Struct)


class SecretHider:
    """Hides what `mask` finds in text, and what `values` finds in data that only the provider
    reads: a pattern that matches there by chance would corrupt the data."""

    def __init__(self, mask: Mask, values: Mask) -> None:
        self.mask = mask
        self.values = values

    def hide(self, struct: S) -> S:
        """Return the struct without secrets, or the same object if it has none. Seals with a
        secret and seals of changed reasoning are removed."""
        kind = type(struct)
        fields = {
            name: hide(self, getattr(struct, name)) for name, hide in _FIELDS.get(kind, {}).items()
        }
        hidden = replace_changed(struct, **fields)
        for finish in _EXTRA.get(kind, ()):
            hidden = finish(self, struct, hidden)
        return hidden

    def hide_arguments(self, raw: str, input: str) -> tuple[str, Any, str | None]:
        """Hide secrets in the raw arguments of a call. Returns the raw text, the arguments, and
        an error if the text is no longer JSON."""
        if input == "text":
            hidden = self.mask.hide(raw)
            return hidden, hidden, None
        hidden = self.mask.hide_json(raw)
        try:
            return hidden, parse_arguments(hidden, DEFAULT_WIRE_LIMITS.max_depth), None
        except MalformedArguments as error:
            return hidden, None, f"redacted arguments are not JSON: {error}"


def replace_changed(struct: S, **fields: Any) -> S:
    """Return a copy with these fields, or the same object if none of them differs."""
    if all(getattr(struct, name) == value for name, value in fields.items()):
        return struct
    return msgspec.structs.replace(struct, **fields)


def hide_value(mask: Mask, value: Any) -> Any:
    """Hide secrets in a JSON value, field names included."""
    if isinstance(value, str):
        return mask.hide(value)
    if isinstance(value, dict):
        fields = as_object(cast("object", value))
        return {hide_value(mask, name): hide_value(mask, inner) for name, inner in fields.items()}
    if isinstance(value, list | tuple):
        return [hide_value(mask, inner) for inner in cast("Iterable[Any]", value)]
    return value


# --- how each kind of field is hidden --------------------------------------------------


def _text(hider: SecretHider, text: str | None) -> str | None:
    return None if text is None else hider.mask.hide(text)


def _json(hider: SecretHider, value: Any) -> Any:
    return hide_value(hider.mask, value)


def _withhold(hider: SecretHider, text: str) -> str:
    """Hide a whole text, which may begin or end inside a secret."""
    return hider.mask.mark if text else ""


def _provider_text(hider: SecretHider, text: str) -> str:
    return hider.values.hide(text)


def _provider_json(hider: SecretHider, text: str) -> str:
    return hider.values.hide_json(text)


def _provider_data(hider: SecretHider, value: Any) -> Any:
    return hide_value(hider.values, value)


def _struct(hider: SecretHider, struct: msgspec.Struct | None) -> msgspec.Struct | None:
    return None if struct is None else hider.hide(struct)


def _structs(hider: SecretHider, structs: Iterable[msgspec.Struct]) -> tuple[msgspec.Struct, ...]:
    return tuple(map(hider.hide, structs))


_CITATION = {"source": _text, "ref": _text, "title": _text, "quote": _text, "raw": _json}
_OUTPUT = {"content": _structs, "provider_data": _provider_data}
_FIELDS: Mapping[type, Mapping[str, Callable[[SecretHider, Any], Any]]] = {
    content.TextContent: {"text": _text},
    content.JSONContent: {"value": _json},
    content.ImageContent: {"url": _text},
    content.FileContent: {"name": _text, "url": _text},
    FinishReason: {"detail": _text},
    ev.ReasoningStarted: {"provider_data": _provider_data},
    ev.ReasoningRedacted: {"data": _provider_text, "provider_data": _provider_data},
    ev.ToolCallStarted: {"name": _provider_text, "provider_data": _provider_data},
    ev.ToolCallFinished: {"name": _provider_text},
    ev.ToolCallMalformed: {"name": _provider_text, "error": _text},
    ev.CitationAdded: _CITATION,
    ev.FrameSkipped: {"reason": _text, "data": _withhold},
    ev.OpaqueItem: {"data": _provider_json},
    ev.MediaProduced: {"url": _text},
    ev.ToolActivity: {"status": _text, "detail": _json},
    ev.ToolOutput: _OUTPUT,
    ev.ToolStarted: {"args": _json},
    ev.ToolProgress: {"status": _text, "log": _text},
    ev.ToolResult: {"kind": _text, "content": _structs},
    ev.OutputFinished: {"reason": _struct, "raw_reason": _text},
    ev.TurnFinished: {"reason": _struct, "raw_reason": _text, "provider_data": _provider_data},
    ev.TurnFailed: {"message": _text, "code": _text},
    ev.StepDiscarded: {"reason": _text},
    ev.StepFinished: {"nudge": _text},
    ev.OutputProduced: {"value": _json},
    ev.RunFinished: {"reason": _struct},
    ev.RunFailed: {"message": _text},
    messages.Message: {"content": _structs, "turns": _structs, "output": _json},
    messages.Turn: {
        "parts": _structs,
        "results": _structs,
        "citations": _structs,
        "nudge": _text,
        "provider_data": _provider_data,
    },
    messages.TextPart: {"text": _text, "citations": _structs},
    messages.ReasoningPart: {"text": _text, "citations": _structs, "provider_data": _provider_data},
    messages.RedactedPart: {"data": _provider_text, "provider_data": _provider_data},
    messages.CallPart: {
        "name": _provider_text,
        "error": _text,
        "activities": _structs,
        "provider_data": _provider_data,
    },
    messages.OutputPart: _OUTPUT,
    messages.MediaPart: {"url": _text},
    messages.OpaquePart: {"data": _provider_json},
    messages.Activity: {"status": _text, "detail": _json},
    messages.CallResult: {"content": _structs},
    messages.Citation: _CITATION,
}


# --- what a table of fields cannot say -------------------------------------------------


def _hide_in_file(hider: SecretHider, file: Any, hidden: Any) -> Any:
    text = decode_text_file(file)
    if text is None or (masked := hider.mask.hide(text)) == text:
        return hidden
    return replace_changed(hidden, data=b64encode(masked.encode()).decode())


def _hide_in_arguments(hider: SecretHider, call: Any, hidden: Any) -> Any:
    raw, args, error = hider.hide_arguments(call.raw, call.input)
    if raw == call.raw:
        return hidden
    return replace_changed(hidden, raw=raw, args=args, error=hidden.error or error)


def _remove_seals(hider: SecretHider, part: Any, hidden: Any) -> Any:
    seals = tuple(seal for seal in part.seals if not hider.values.has_secret(seal.value))
    if isinstance(part, messages.ReasoningPart) and hidden.text != part.text:
        seals = ()
    return replace_changed(hidden, seals=seals)


_PARTS = (
    messages.TextPart,
    messages.ReasoningPart,
    messages.RedactedPart,
    messages.OutputPart,
    messages.MediaPart,
    messages.OpaquePart,
)
_EXTRA: Mapping[type, tuple[Callable[[SecretHider, Any, Any], Any], ...]] = {
    content.FileContent: (_hide_in_file,),
    messages.CallPart: (_hide_in_arguments, _remove_seals),
    **dict.fromkeys(_PARTS, (_remove_seals,)),
}
